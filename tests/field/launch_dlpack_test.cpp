// Tensors of other libraries: what is taken over, what is refused and why, and what is handed out.
#include <numeric>

#include "fake_gpu.hpp"
#include "tessera/runtime/dlpack.hpp"

namespace tessera {
namespace {
using dlpack::DLManagedTensor;
using dlpack::DLManagedTensorVersioned;
using test::error_of;
using test::Scale;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A tensor as another library would make it, over memory of the test.
struct Foreign {
  Foreign(void* data, std::vector<std::int64_t> s, dlpack::DLDataType type, dlpack::DLDevice device = {1, 0})
      : shape(std::move(s)) {
    managed.dl_tensor = {data, device, static_cast<std::int32_t>(shape.size()), type, shape.data(), nullptr, 0};
    managed.manager_ctx = &deleted;
    managed.deleter = [](DLManagedTensor* self) { ++*static_cast<int*>(self->manager_ctx); };
  }
  std::vector<std::int64_t> shape, strides;
  int deleted = 0;
  DLManagedTensor managed;
};
constexpr dlpack::DLDataType f32{dlpack::ieee_float, 32, 1};

struct DlpackTest : test::FakeGpuTest {
  std::vector<float> numbers = std::vector<float>(64, 3.0F);
  Kernel<Scale> scale;
};

TEST_F(DlpackTest, ATensorIsAnArgumentAndIsGivenBackOnce) {
  Foreign x(numbers.data(), {16, 4}, f32);
  std::vector<float> y(64);
  {
    const DlpackTensor tensor = from_dlpack(&x.managed);
    EXPECT_EQ(tensor.type(), DType::f32);
    EXPECT_THAT(tensor.shape(), ElementsAre(16, 4));
    EXPECT_THAT(tensor.strides(), ElementsAre(4, 1));
    EXPECT_TRUE(tensor.contiguous());
    EXPECT_FALSE(tensor.device());
    scale(64, 2, tensor.pointer<float>(), y);
    EXPECT_EQ(y[63], 6.0F);
    EXPECT_THAT(error_of([&] { scale(65, 2, tensor.pointer<float>(), y); }).what(),
                HasSubstr("the argument for x_ptr has 256 bytes"));
    const DlpackTensor copy = tensor;
    EXPECT_EQ(x.deleted, 0);
  }
  EXPECT_EQ(x.deleted, 1);
}

TEST_F(DlpackTest, OffsetsAndReadOnlyMemory) {
  DLManagedTensorVersioned x;
  std::int64_t shape[] = {60};
  x.dl_tensor = {numbers.data(), {1, 0}, 1, f32, shape, nullptr, 16};
  x.flags = dlpack::flag_read_only;
  numbers[4] = 5.0F;
  std::vector<float> y(60);
  const DlpackTensor tensor = from_dlpack(&x);
  scale(60, 2, tensor.pointer<float>(), y);
  EXPECT_EQ(y[0], 10.0F);
  EXPECT_TRUE(tensor.read_only());
  EXPECT_THAT(error_of([&] { scale(60, 2, y, tensor.pointer<float>()); }).what(),
              HasSubstr("the argument for y_ptr is read-only memory"));
  x.version.major = 2;
  EXPECT_THAT(error_of([&] { static_cast<void>(from_dlpack(&x)); }).what(), HasSubstr("of version 2.0"));
}

TEST_F(DlpackTest, StridesMakeAMatrixButNoPointer) {
  Foreign x(numbers.data(), {8, 4}, f32);
  x.strides = {1, 8};
  x.managed.dl_tensor.strides = x.strides.data();
  const DlpackTensor tensor = from_dlpack(&x.managed);
  EXPECT_FALSE(tensor.contiguous());
  const detail::MatrixValue matrix = tensor.checked_matrix({});
  EXPECT_EQ(matrix.row_stride, 1);
  EXPECT_EQ(matrix.column_stride, 8);
  EXPECT_EQ(matrix.memory.bytes, 128U);
  const Error error = error_of([&] { static_cast<void>(tensor.pointer<float>()); });
  EXPECT_EQ(error.kind(), ErrorKind::user);
  EXPECT_THAT(error.what(), HasSubstr("the tensor of shape [8, 4] has the strides [1, 8]"));
  EXPECT_THAT(error.what(), HasSubstr("make it contiguous"));
  Foreign flat(numbers.data(), {64}, f32);
  EXPECT_THAT(error_of([&] { static_cast<void>(from_dlpack(&flat.managed).checked_matrix({})); }).what(),
              HasSubstr("a tensor of shape [64] is no matrix"));
  Foreign column(numbers.data(), {64, 1}, f32);  // the stride of one element says nothing
  column.strides = {1, 77};
  column.managed.dl_tensor.strides = column.strides.data();
  EXPECT_TRUE(from_dlpack(&column.managed).contiguous());
  Foreign reversed(numbers.data(), {64}, f32);
  reversed.strides = {-1};
  reversed.managed.dl_tensor.strides = reversed.strides.data();
  EXPECT_THAT(error_of([&] { static_cast<void>(from_dlpack(&reversed.managed)); }).what(),
              HasSubstr("dimension 0 has the stride -1"));
  EXPECT_EQ(reversed.deleted, 0) << "it stays the caller's";
}

TEST_F(DlpackTest, TypesAndDevices) {
  const auto refused = [&](dlpack::DLDataType type, dlpack::DLDevice device) {
    Foreign x(numbers.data(), {4}, type, device);
    return std::string(error_of([&] { static_cast<void>(from_dlpack(&x.managed)); }).what());
  };
  EXPECT_THAT(refused({5, 64, 1}, {1, 0}), HasSubstr("type code 5, 64 bits, 1 lanes"));
  EXPECT_THAT(refused({2, 32, 4}, {1, 0}), HasSubstr("type code 2, 32 bits, 4 lanes"));
  EXPECT_THAT(refused({2, 64, 1}, {1, 0}), HasSubstr("convert it to one of"));
  EXPECT_THAT(refused(f32, {10, 0}), HasSubstr("on device type 10"));
  EXPECT_THAT(refused(f32, {2, 7}), HasSubstr("Device::cuda(7): the driver shows 2 GPUs"));
  const std::pair<dlpack::DLDataType, DType> types[] = {
      {{0, 8, 1}, DType::i8},    {{0, 64, 1}, DType::i64},    {{1, 16, 1}, DType::u16},    {{2, 16, 1}, DType::f16},
      {{4, 16, 1}, DType::bf16}, {{6, 8, 1}, DType::boolean}, {{10, 8, 1}, DType::f8e4m3}, {{12, 8, 1}, DType::f8e5m2}};
  for (const auto& [found, type] : types) {
    Foreign x(numbers.data(), {4}, found);
    EXPECT_EQ(from_dlpack(&x.managed).type(), type);
  }
  Foreign half(numbers.data(), {4}, {2, 16, 1});
  EXPECT_THAT(error_of([&] { static_cast<void>(from_dlpack(&half.managed).pointer<float>()); }).what(),
              HasSubstr("the tensor holds float16, but the parameter is of float32"));
  Foreign bytes(numbers.data(), {4}, {1, 8, 1});
  const DlpackTensor tensor = from_dlpack(&bytes.managed);
  EXPECT_EQ(tensor.as(DType::f8e4m3).type(), DType::f8e4m3);
  EXPECT_THAT(error_of([&] { static_cast<void>(tensor.as(DType::f16)); }).what(),
              HasSubstr("a tensor of uint8 taken as one of float16"));
}

TEST_F(DlpackTest, MemoryOnAGpuIsOfItsDevice) {
  const Device one = Device::cuda(1);
  auto x = one.zeros<float>({64}), y = one.zeros<float>({64});
  auto z = Device::cuda(0).zeros<float>({64});
  Foreign foreign(x.data(), {64}, f32, {dlpack::cuda, 1});
  const DlpackTensor tensor = from_dlpack(&foreign.managed);
  EXPECT_EQ(*tensor.device(), one);
  scale(64, 2, tensor.pointer<float>(), y);
  EXPECT_THAT(error_of([&] { scale(64, 2, tensor.pointer<float>(), z); }).what(),
              HasSubstr("is a buffer of Fake H200, but the argument for x_ptr is on Fake H200 (another device"));
}

TEST_F(DlpackTest, ABufferIsHandedOut) {
  const Device sim = Device::sim();
  DLManagedTensor* out = to_dlpack(sim.from_host(numbers, {4, 16}));
  EXPECT_EQ(out->dl_tensor.device.device_type, dlpack::cpu);
  EXPECT_EQ(out->dl_tensor.ndim, 2);
  EXPECT_EQ(out->dl_tensor.strides[0], 16);
  EXPECT_EQ(static_cast<float*>(out->dl_tensor.data)[63], 3.0F);
  {
    const DlpackTensor back = from_dlpack(out);  // and taken over again: freed here, which the sanitizer checks
    EXPECT_THAT(back.shape(), ElementsAre(4, 16));
  }
  const Device gpu = Device::cuda(1);
  const int before = function<int()>("fake_allocations")();
  DLManagedTensorVersioned* card = to_dlpack_versioned(gpu.zeros<float16>({8}));
  EXPECT_EQ(card->version.major, 1U);
  EXPECT_EQ(card->dl_tensor.device.device_type, dlpack::cuda);
  EXPECT_EQ(card->dl_tensor.device.device_id, 1);
  EXPECT_EQ(card->dl_tensor.dtype.bits, 16);
  EXPECT_EQ(function<int()>("fake_allocations")(), before + 1);
  card->deleter(card);
  EXPECT_EQ(function<int()>("fake_allocations")(), before);
}

}  // namespace
}  // namespace tessera
