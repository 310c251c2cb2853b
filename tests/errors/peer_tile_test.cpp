// Tiles of other blocks of a cluster, and the cluster's barrier in two halves.
#include "errors/mistake.hpp"

namespace tessera::test {
namespace {

using testing::HasSubstr;

TEST(PeerTiles, WhatIsRecorded) {
  const auto kernel = trace_cluster(4, [](Program&) {
    auto tile = shared_tensor<float>({2, 8, 32});
    const SharedTensor part = tile[1].transpose();
    cluster.sync();
    auto values = load_shared(cluster.map_shared_rank(part, (cluster.rank() + 1) % 4));
    store_shared(cluster.map_shared_rank(part, 3), values);
    cluster.sync();
  });
  const std::string text = ir::tile::to_string(*kernel, false);
  EXPECT_THAT(text,
              HasSubstr("values: f32[32, 8] = load_shared(tile[1, :, :].transpose() of cta (cluster_rank + 1) % 4)"));
  EXPECT_THAT(text, HasSubstr("store_shared(tile[1, :, :].transpose() of cta 3, values)"));
}

TEST(PeerTiles, OfOneBlockAreItsOwn) {
  const std::string text = text_of([](Program&) {
    auto tile = shared_tensor<float>({8, 32});
    load_shared(cluster.map_shared_rank(tile, cluster.rank()));
  });
  EXPECT_THAT(text, HasSubstr("load_shared(tile)"));
}

TEST(PeerTileErrors, RankOutsideTheCluster) {
  expect_in_cluster(
      [](Program&) {
        auto tile = shared_tensor<float>({8, 32});
        cluster.map_shared_rank(tile, cluster.rank() + 2);  // <- error
      },
      "cluster.map_shared_rank() in block cluster_rank + 2 of a cluster of 2");
  expect_in_cluster(
      [](Program&) {
        auto tile = shared_tensor<float>({8, 32});
        cluster.map_shared_rank(tile, -1);  // <- error
      },
      "the blocks of a cluster are counted from 0 to 1");
  expect_mistake(
      [](Program&) {
        auto tile = shared_tensor<float>({8, 32});
        cluster.map_shared_rank(tile, 1);  // <- error
      },
      "attrs.cluster sets how many there are");
}

TEST(PeerTileErrors, TypesAndShapes) {
  expect_in_cluster(
      [](Program&) {
        auto tile = shared_tensor<float>({8, 32});
        auto values = register_tensor<float16>({8, 32}, 0.0f);
        store_shared(cluster.map_shared_rank(tile, 1), values);  // <- error
      },
      "store_shared() of a float16 tile to 'tile', which holds float32");
  expect_in_cluster(
      [](Program&) {
        auto tile = shared_tensor<float>({8, 32});
        auto values = register_tensor<float>({32, 8}, 0.0f);
        store_shared(cluster.map_shared_rank(tile, 1), values);  // <- error
      },
      "store_shared() of a tile of shape {32, 8} to 'tile' of shape {8, 32}");
}

TEST(PeerTileErrors, UsedAfterItsScopeOrItsEnd) {
  expect_in_cluster(
      [](Program&) {
        auto tile = shared_tensor<float>({8, 32});
        std::vector<PeerTensor> kept;
        for (auto i : range(2)) kept.push_back(cluster.map_shared_rank(tile, i));
        load_shared(kept.front());  // <- error
      },
      "the shared tile");
  expect_in_cluster(
      [](Program&) {
        auto tile = shared_tensor<float>({8, 32});
        const auto theirs = cluster.map_shared_rank(tile, 1);
        free_shared(tile);
        load_shared(theirs);  // <- error
      },
      "'tile' is used after free_shared");
}

TEST(Clusters, TheTwoHalvesOfTheBarrier) {
  const auto kernel = trace_cluster(2, [](Program&) {
    if (auto _ = warp_group(0, 4)) cluster.arrive();
    if (auto _ = warp_group(4, 4)) cluster.arrive();
    cluster.wait();
  });
  const std::string text = ir::tile::to_string(*kernel, false);
  EXPECT_THAT(text, HasSubstr("  cluster.arrive()\n"));
  EXPECT_THAT(text, HasSubstr("cluster.wait()\n"));
}

TEST(ClusterErrors, HalvesOfTheBarrierInPartsOfWarps) {
  expect_in_cluster(
      [](Program&) {
        if (auto _ = single_thread()) cluster.arrive();  // <- error
      },
      "cluster.arrive() is executed by one elected thread of warp 0");
  expect_in_cluster(
      [](Program&) {
        if (auto _ = single_thread(3)) cluster.wait();  // <- error
      },
      "whole warps take part");
}

TEST(ClusterErrors, HalvesOfTheBarrierThatNotAllBlocksGetTo) {
  expect_in_cluster(
      [](Program&) {
        if (auto _ = when(cluster.rank() == 0)) cluster.arrive();  // <- error
        cluster.wait();
      },
      "cluster.arrive() stands under a condition that may differ between the blocks of a cluster");
  expect_in_cluster(
      [](Program&) {
        cluster.arrive();
        if (auto _ = when(cluster.rank() == 0)) cluster.wait();  // <- error
      },
      "cluster.wait() stands under a condition that may differ between the blocks of a cluster");
}

}  // namespace
}  // namespace tessera::test
