// Of each step of the ladder some candidates that differ in structure, and how deep their rings are.
#pragma once

#include "hopper_matmul/matmul_v1.hpp"
#include "hopper_matmul/matmul_v2.hpp"
#include "hopper_matmul/matmul_v3.hpp"
#include "hopper_matmul/matmul_v4.hpp"
#include "hopper_matmul/matmul_v5.hpp"
#include "hopper_matmul/matmul_v6.hpp"
#include "hopper_matmul/matmul_v7.hpp"
#include "matmul.hpp"

namespace tessera::testing {
using namespace hopper_matmul;  // NOLINT(google-build-using-namespace)

template <class S>
struct Step;
template <>
struct Step<MatmulWgmma<float16>> {
  static constexpr const char* configs[] = {"block_m=64,block_n=128,block_k=64", "block_m=128,block_n=128,block_k=32",
                                            "block_m=192,block_n=128,block_k=128"};
  static constexpr int stages[] = {1, 1, 1};
};
template <>
struct Step<MatmulMultiStage<float16>> {
  static constexpr const char* configs[] = {"block_m=64,block_n=256,warpgroups=1,block_k=64,stages=3",
                                            "block_m=128,block_n=128,warpgroups=2,block_k=32,stages=4",
                                            "block_m=256,block_n=128,warpgroups=2,block_k=64,stages=2"};
  static constexpr int stages[] = {3, 4, 2};
};
template <>
struct Step<MatmulWarpSpecialised<float16>> {
  static constexpr const char* configs[] = {"block_m=128,block_n=128,block_k=64,stages=3",
                                            "block_m=64,block_n=256,block_k=32,stages=6",
                                            "block_m=128,block_n=192,block_k=128,stages=2"};
  static constexpr int stages[] = {3, 6, 2};
};
template <>
struct Step<MatmulPipelined<float16>> {
  static constexpr const char* configs[] = {"block_m=128,block_n=256,block_k=64,stages=4,group=8",
                                            "block_m=256,block_n=128,block_k=64,stages=3,group=4"};
  static constexpr int stages[] = {4, 3};
};
template <>
struct Step<MatmulOverlapped<float16>> {
  static constexpr const char* configs[] = {"block_m=128,block_n=256,block_k=64,stages=4,group=8",
                                            "block_m=128,block_n=128,block_k=16,stages=6,group=4"};
  static constexpr int stages[] = {4, 6};
};
template <>
struct Step<MatmulPersistent<float16>> {
  static constexpr const char* configs[] = {"block_m=128,block_n=256,stages=4,cluster=2,group=8",
                                            "block_m=128,block_n=200,stages=5,cluster=2,group=16",
                                            "block_m=128,block_n=192,stages=5,cluster=1,group=4"};
  static constexpr int stages[] = {4, 5, 5};
};

template <>
struct Step<MatmulPingPong<float16>> {
  static constexpr const char* configs[] = {"block_m=128,block_n=200,stages=4,cluster=2,group=16",
                                            "block_m=128,block_n=168,stages=5,cluster=1,group=4",
                                            "block_m=128,block_n=128,stages=6,cluster=2,group=8"};
  static constexpr int stages[] = {4, 5, 6};
};

using Steps = ::testing::Types<MatmulWgmma<float16>, MatmulMultiStage<float16>, MatmulWarpSpecialised<float16>,
                               MatmulPipelined<float16>, MatmulOverlapped<float16>, MatmulPersistent<float16>,
                               MatmulPingPong<float16>>;

}  // namespace tessera::testing
