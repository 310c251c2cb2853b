// Views, tiles, loads, stores and elementwise operations.
#include "errors/mistake.hpp"

namespace tessera::test {
namespace {

using testing::HasSubstr;

TEST(Tiles, WhatIsRecorded) {
  const std::string text = text_of([](Program& k) {
    auto ga = global_view(*k.a + 3 * *k.n, {*k.n, 8}, {16, 1});
    auto sx = shared_tensor<float16>({64, 8});
    auto x = load_global(ga, {blockIdx.x * 64, 0}, {64, 8});
    auto row = register_tensor<float16>({1, 8}, float16(2.0f));
    auto y = register_tensor<float>({64, 8}, [](Int32 i, Int32 j) { return select(i > j, 1.0f, 0.5f); });
    auto h = x * row + 0.5;
    y += cast<float>(h);
    y = max(y, 0.0f) - y;
    auto negative = -y;
    y = select(y > 1.0f, y, negative);
    y = 0.0f;
    store_shared(sx, h);
    auto t = load_shared(sx).transpose();
    free_shared(sx);
    store_global(ga, h, {blockIdx.x * 64, cast<Int64>(*k.n)});
  });
  EXPECT_EQ(text, R"(kernel Program(n_arg: i32, a_arg: f16*, b_arg: f16*, c_arg: f32*)
blocks [int64((n_arg / 64) + int32((n_arg % 64) != 0)), 1, 1], warps 4
view ga: f16[int64(n_arg), 8] = a_arg + int64(n_arg * 3), strides [16, 1]
sx: f16[64, 8] = shared_tensor()
x: f16[64, 8] = load_global(ga, [blockIdx.x * 64, 0])
row: f16[1, 8] = register_tensor()
row = 2
y: f32[64, 8] = register_tensor()
y = select(i0 > i1, 1, 0.5)
h: f16[64, 8] = x * row
h_2: f16[64, 8] = h + 0.5
t5: f32[64, 8] = float32(h_2)
y = y + t5
t6: f32[64, 8] = max(y, 0)
t7: f32[64, 8] = t6 - y
y = t7
negative: f32[64, 8] = -y
t9: bool[64, 8] = y > 1
t10: f32[64, 8] = select(t9, y, negative)
y = t10
y = 0
store_shared(sx, h_2)
t: f16[64, 8] = load_shared(sx)
t12: f16[8, 64] = transpose(t)
free_shared(sx)
store_global(ga, h_2, [blockIdx.x * 64, int64(n_arg)])
)");
}

TEST(Tiles, TransposeOfANamedTileIsACopy) {
  const std::string text = text_of([](Program&) {
    auto x = register_tensor<float>({16, 8}, 0.0f);
    auto y = x.transpose();
    x = 1.0f;
  });
  EXPECT_THAT(text, HasSubstr(" = x\n"));  // the copy
}

TEST(Tiles, ScalarsKeepTheTilesType) {
  const std::string text = text_of([](Program& k) {
    auto x = register_tensor<std::int16_t>({16}, 0);
    auto y = x * 2 + cast<Int16>(*k.n);
    auto z = register_tensor<float16>({16}, 0) * cast<Float32>(*k.n);
  });
  EXPECT_THAT(text, HasSubstr("y: i16[16] = x * 2"));
  EXPECT_THAT(text, HasSubstr("z_2: f16[16] = z * float16(float32(n_arg))"));
}

TEST(Tiles, BytesAreCppIntegers) {
  trace_body([](Program&) {
    auto s = shared_tensor<float16>({64, 32});
    EXPECT_EQ(s.nbytes(), 64 * 32 * 2);
    EXPECT_EQ(s.shape(), (std::vector<std::int64_t>{64, 32}));
    EXPECT_EQ(s.dtype(), DType::f16);
  });
}

TEST(Tiles, LayoutsArePinned) {
  const auto kernel = trace_body([](Program&) {
    auto t = register_tensor<float>({64, 64}, 0.0f);
    annotate_layout(t, layouts::spatial({2, 2}).local({2, 4}).spatial({8, 4}) * layouts::local({2, 2}));
    auto s = shared_tensor<float16>({64, 64});
    annotate_layout(s, layouts::swizzled(Swizzle::b128));
    auto r = shared_tensor<float16>({64, 64});
    annotate_layout(r, layouts::column_major());
  });
  ASSERT_TRUE(kernel->registers[0]->layout_pinned);
  EXPECT_EQ(kernel->registers[0]->layout->spatial_size(), 128);
  EXPECT_EQ(kernel->registers[0]->layout->local_size(), 32);
  ASSERT_TRUE(kernel->shared[0]->layout_pinned);
  EXPECT_EQ(kernel->shared[0]->layout->swizzle(), layout::SwizzleMode::b128);
  EXPECT_EQ(kernel->shared[1]->layout->mode_strides(), (std::vector<std::int64_t>{1, 64}));
}

TEST(TileErrors, ExtentsBelowOne) {
  expect_mistake(
      [](Program&) {
        shared_tensor<float>({16, -4});  // <- error
      },
      "dimension 1 has extent -4");
  expect_mistake(
      [](Program&) {
        register_tensor<float>({0, 16});  // <- error
      },
      "dimension 0 has extent 0");
  expect_mistake(
      [](Program& k) {
        load_global(global_view(*k.c, {16}), {0}, {0});  // <- error
      },
      "load_global() of the shape {0}");
}

TEST(TileErrors, TooLarge) {
  expect_mistake(
      [](Program&) {
        shared_tensor<float>({100000, 100000});  // <- error
      },
      "too large for a tile");
  expect_mistake(
      [](Program&) {
        register_tensor<float>({1LL << 62, 4});  // <- error
      },
      "too large for a tile");
}

TEST(TileErrors, Rank) {
  expect_mistake(
      [](Program&) {
        shared_tensor<float>({1, 1, 1, 1, 1, 1});  // <- error
      },
      "6 dimensions");
  expect_mistake(
      [](Program&) {
        register_tensor<float>(std::vector<std::int64_t>{});  // <- error
      },
      "0 dimensions");
}

TEST(TileErrors, ViewOfDeviceShape) {
  expect_mistake(
      [](Program& k) {
        global_view(*k.a, {*k.n, blockIdx.x});  // <- error
      },
      "extent 1 of a view is not known at launch");
  expect_mistake(
      [](Program& k) {
        Var<Int32> pitch = 16;
        global_view(*k.a, {*k.n, 16}, {pitch, 1});  // <- error
      },
      "stride 0 of a view is not known at launch");
}

TEST(TileErrors, ViewShapes) {
  expect_mistake(
      [](Program& k) {
        global_view(*k.a, {-1, 16});  // <- error
      },
      "extent 0 of a view is negative");
  expect_mistake(
      [](Program& k) {
        global_view(*k.a, {16, 16}, {1});  // <- error
      },
      "2 extents and 1 strides");
  expect_mistake(
      [](Program& k) {
        global_view(*k.a, {1, 1, 1, 1, 1, 1});  // <- error
      },
      "global_view() with 6 dimensions");
}

TEST(TileErrors, OffsetsOfTheWrongRank) {
  expect_mistake(
      [](Program& k) {
        auto ga = global_view(*k.a, {*k.n, 16});
        load_global(ga, {0}, {16, 16});  // <- error
      },
      "load_global() has 1 offsets for 'ga', which has 2 dimensions");
  expect_mistake(
      [](Program& k) {
        auto gc = global_view(*k.c, {*k.n, 16});
        store_global(gc, register_tensor<float>({16, 16}, 0.0f), {0, 0, 0});  // <- error
      },
      "store_global() has 3 offsets for 'gc'");
}

TEST(TileErrors, LoadOfTheWrongRank) {
  expect_mistake(
      [](Program& k) {
        load_global(global_view(*k.a, {*k.n, 16}), {0, 0}, {16});  // <- error
      },
      "one extent a dimension of the view");
}

TEST(TileErrors, StoreOfTheWrongType) {
  const std::string text = mistake([](Program& k) {
    auto ga = global_view(*k.a, {*k.n, 16});
    store_global(ga, register_tensor<float>({16, 16}, 0.0f), {0, 0});  // <- error
  });
  EXPECT_THAT(text, HasSubstr("store_global() of a float32 tile to 'ga', which holds float16"));
  EXPECT_THAT(text, HasSubstr("cast<float16>(tile)"));
  expect_mistake(
      [](Program&) {
        auto s = shared_tensor<float16>({16, 16});
        store_shared(s, register_tensor<float>({16, 16}, 0.0f));  // <- error
      },
      "store_shared() of a float32 tile to 's', which holds float16");
}

TEST(TileErrors, StoreOfTheWrongShape) {
  expect_mistake(
      [](Program& k) {
        store_global(global_view(*k.c, {*k.n, 16}), register_tensor<float>({16}, 0.0f), {0, 0});  // <- error
      },
      "the same number of dimensions");
  expect_mistake(
      [](Program&) {
        auto s = shared_tensor<float>({16, 16});
        store_shared(s, register_tensor<float>({16, 8}, 0.0f));  // <- error
      },
      "store_shared() of a tile of shape {16, 8} to 's' of shape {16, 16}");
}

TEST(TileErrors, FreedTiles) {
  expect_mistake(
      [](Program&) {
        auto s = shared_tensor<float>({16, 16});
        free_shared(s);
        load_shared(s);  // <- error
      },
      "'s' is used after free_shared");
  expect_mistake(
      [](Program&) {
        auto s = shared_tensor<float>({16, 16});
        free_shared(s);
        free_shared(s);  // <- error
      },
      "'s' is used after free_shared");
  expect_mistake(
      [](Program& k) {
        auto s = shared_tensor<float>({16, 16});
        for (auto i : range(*k.n)) {
          (void)i;
          free_shared(s);  // <- error
        }
      },
      "free_shared() of 's' in an inner scope");
}

TEST(TileErrors, MixedElementTypes) {
  const std::string text = mistake([](Program&) {
    auto x = register_tensor<float>({16}, 0.0f);
    auto y = register_tensor<float16>({16}, 0.0f);
    auto z = x + y;  // <- error
  });
  EXPECT_THAT(text, HasSubstr("a tile of float32 meets a tile of float16"));
  EXPECT_THAT(text, HasSubstr("cast<float32>(tile)"));
}

TEST(TileErrors, Broadcast) {
  expect_mistake(
      [](Program&) {
        auto z = register_tensor<float>({16, 8}, 0.0f) + register_tensor<float>({16}, 0.0f);  // <- error
      },
      "tiles of shapes {16, 8} and {16} do not fit together");
}

TEST(TileErrors, NumbersThatAreNoElements) {
  expect_mistake(
      [](Program&) {
        auto z = register_tensor<int>({16}, 1) * 0.5;  // <- error
      },
      "0.5 is no value of int32");
  expect_mistake(
      [](Program&) {
        auto z = register_tensor<std::uint8_t>({16}, 1) + 300;  // <- error
      },
      "300 is no value of uint8");
  expect_mistake(
      [](Program&) {
        auto z = register_tensor<float16>({16}, 1) * 1e10;  // <- error
      },
      "is no value of float16");
  expect_mistake(
      [](Program& k) {
        auto z = register_tensor<std::int16_t>({16}, 1) + *k.n;  // <- error
      },
      "a traced int32 meets a tile of int16");
}

TEST(TileErrors, OperatorsOfOtherTypes) {
  expect_mistake(
      [](Program&) {
        auto z = register_tensor<float>({16}, 1) % 2;  // <- error
      },
      "the operator % on tiles of float32");
  expect_mistake(
      [](Program&) {
        auto x = register_tensor<float>({16}, 1);
        auto z = (x > 0.0f) + (x < 0.0f);  // <- error
      },
      "the operator + on tiles of bool");
  expect_mistake(
      [](Program&) {
        auto z = ~register_tensor<float>({16}, 1);  // <- error
      },
      "the operator ~ on a tile of float32");
  expect_mistake(
      [](Program&) {
        auto x = register_tensor<float>({16}, 1);
        auto z = select(x, x, 0.0f);  // <- error
      },
      "the condition of select() has the type float32");
  expect_mistake(
      [](Program&) {
        auto z = register_tensor<int>({16}, 1) / 0;  // <- error
      },
      "divided by the constant 0");
}

TEST(TileErrors, AssignmentToAResult) {
  expect_mistake(
      [](Program& k) {
        auto x = load_global(global_view(*k.c, {*k.n}), {0}, {16});
        x += 1.0f;  // <- error
      },
      "'x' is the result of an instruction and cannot be assigned");
}

TEST(TileErrors, AssignmentOfAnotherTypeOrShape) {
  expect_mistake(
      [](Program&) {
        auto x = register_tensor<float>({16}, 0.0f);
        x = register_tensor<int>({16}, 0);  // <- error
      },
      "a tile of int32 is assigned to 'x' of float32");
  expect_mistake(
      [](Program&) {
        auto x = register_tensor<float>({16}, 0.0f);
        x = register_tensor<float>({4, 16}, 0.0f);  // <- error
      },
      "a value of shape {4, 16} is assigned to 'x' of shape {16}");
}

TEST(TileErrors, TransposeOfOtherRanks) {
  expect_mistake(
      [](Program&) {
        register_tensor<float>({2, 4, 8}, 0.0f).transpose();  // <- error
      },
      "transpose() of a tile of shape {2, 4, 8}");
}

TEST(Tiles, PartsOfRegisterTiles) {
  const std::string text = text_of([](Program& k) {
    auto x = register_tensor<float>({16, 8}, 0.0f);
    for (auto i : range(*k.n)) {
      (void)i;
      for (int part = 0; part < 2; ++part) print_tensor("part", x.split(1, 2)[part] + 1.0f);
    }
    EXPECT_EQ(x.split(0, 4)[3].shape(), (std::vector<std::int64_t>{4, 8}));
  });
  EXPECT_THAT(text, HasSubstr("f32[16, 4] = slice(x"));
}

TEST(TileErrors, PartsOfRegisterTiles) {
  expect_mistake(
      [](Program&) {
        register_tensor<float>({16, 8}, 0.0f).split(2, 2)[0];  // <- error
      },
      "split() of dimension 2 of a tile of shape {16, 8}");
  expect_mistake(
      [](Program&) {
        register_tensor<float>({16, 8}, 0.0f).split(1, 3)[0];  // <- error
      },
      "split() of 8 elements into 3 equal parts");
  expect_mistake(
      [](Program&) {
        register_tensor<float>({16, 8}, 0.0f).split(1, 2)[2];  // <- error
      },
      "part 2 of 2");
}

TEST(TileErrors, FunctionOfTheIndex) {
  expect_mistake(
      [](Program&) {
        register_tensor<float>({4, 4}, [](Int32 i) { return cast<float>(i); });  // <- error
      },
      "does not take 2 indices");
  expect_mistake(
      [](Program&) {
        register_tensor<float>({4}, [](Int32 i) {
          tessera::sync();  // <- error
          return cast<float>(i);
        });
      },
      "a function of the index contains a statement");
  expect_mistake(
      [](Program&) {
        Var<Int32> count = 0;
        register_tensor<float>({4}, [&](Int32 i) {
          count += 1;  // <- error
          return cast<float>(i);
        });
      },
      "a Var is assigned inside a function of the index");
}

TEST(LayoutErrors, Registers) {
  expect_mistake(
      [](Program&) {
        auto t = register_tensor<float>({64, 64}, 0.0f);
        annotate_layout(t, layouts::spatial({2, 2}).local({4, 8}));  // <- error
      },
      "annotate_layout() of 't' of shape {64, 64} with a layout of shape {8, 16}");
  expect_mistake(
      [](Program&) {
        auto t = register_tensor<float>({64, 64}, 0.0f);
        annotate_layout(t, layouts::spatial({8, 4}).local({8, 16}));  // <- error
      },
      "a layout over 32 threads, for a group of 128");
  expect_mistake(
      [](Program&) {
        auto t = register_tensor<float>({64, 64}, 0.0f);
        annotate_layout(t, layouts::spatial({2, 2}).local({4}));  // <- error
      },
      "factors of different ranks");
  expect_mistake(
      [](Program&) {
        auto t = register_tensor<float>({32, 4}, 0.0f);
        annotate_layout(t, layouts::spatial({32, 4}));
        annotate_layout(t, layouts::column_spatial({32, 4}));  // <- error
      },
      "twice, with different layouts");
}

TEST(LayoutErrors, Shared) {
  expect_mistake(
      [](Program&) {
        auto s = shared_tensor<float16>({64, 100});
        annotate_layout(s, layouts::swizzled(Swizzle::b128));  // <- error
      },
      "with a swizzle of 128 bytes");
  expect_mistake(
      [](Program&) {
        auto s = shared_tensor<float16>({64, 64});
        annotate_layout(s, layouts::row_major());
        annotate_layout(s, layouts::column_major());  // <- error
      },
      "twice, with different layouts");
}

}  // namespace
}  // namespace tessera::test
