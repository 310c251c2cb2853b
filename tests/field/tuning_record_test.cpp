// Tuning records: their form, damage, and merging.
#include <functional>
#include <nlohmann/json.hpp>
#include <random>

#include "../unit/runtime_fixture.hpp"
#include "runtime/record_store.hpp"
#include "tune/record.hpp"

namespace tessera::tune {
namespace {
using nlohmann::ordered_json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Status = CandidateReport::Status;

RecordRow row_of(const std::string& config, Status status, double us, int rounds, std::int64_t measured = 1000) {
  RecordRow row;
  row.report.config = config;
  row.report.status = status;
  row.report.time_us = us;
  row.report.rounds = rounds;
  row.report.result_class = rounds > 0 ? 0 : -1;
  row.measured = measured;
  row.text_hash = "text of " + config;
  return row;
}

RecordedLaunch launch_of(const std::string& entry) {
  RecordedLaunch launch;
  launch.entry = entry;
  launch.job.function = "kernel";
  launch.job.grid = {7, 1, 2};
  launch.job.cluster = {1, 1, 2};
  launch.job.threads = 128;
  launch.job.shared_bytes = 4096;
  launch.job.dependent = true;
  launch.job.params = {{trial::no_region, -5}, {0, 64}};
  trial::MapJob map;
  map.name = "ga";
  map.type = DType::bf16;
  map.swizzle = 3;
  map.box = {64, 16};
  map.dims = {128, 256};
  map.strides = {256};
  map.base = {0, 32};
  launch.job.maps = {map};
  return launch;
}

Record example() {
  Record record;
  record.identity = "script A\nline";
  record.kernel = "A";
  record.winner = "x=1";
  record.chosen = record.complete = true;
  record.text_hash = "text of x=1";
  record.device = "d";
  record.driver = "r";
  record.compiler = "c";
  record.bucket = "m in (1, 2]";
  record.seconds = 2.5;
  record.updated = 1700000000;
  RecordBuffer buffer;
  buffer.region.name = "a";
  buffer.region.bytes = 8192;
  buffer.region.misalignment = 16;
  buffer.region.read = true;
  buffer.type = DType::f8e4m3;
  record.buffers = {buffer};
  record.rows = {row_of("x=1", Status::chosen, 12.25, 15), row_of("x=2", Status::ranked, 13, 15),
                 row_of("x=3", Status::failed, 0, 0)};
  record.rows[0].report.reason = "because \"quotes\"";
  record.rows[0].report.registers = 128;
  record.rows[0].report.spread_us = 0.5;
  record.rows[0].report.remarks = {"one", "two"};
  record.rows[0].launch = launch_of("0123abcd");
  return record;
}

TEST(Record, RoundTripKeepsEveryField) {
  const Record record = example();
  std::string why;
  const auto again = parse_record(to_json(record), &why);
  ASSERT_TRUE(again.has_value()) << why;
  EXPECT_EQ(to_json(*again), to_json(record));
  EXPECT_EQ(again->identity, record.identity);
  EXPECT_EQ(again->winner, "x=1");
  EXPECT_EQ(again->rows[0].report.remarks, record.rows[0].report.remarks);
  EXPECT_EQ(again->rows[0].report.spread_us, 0.5);
  EXPECT_EQ(again->rows[2].report.status, Status::failed);
  EXPECT_EQ(again->buffers[0].type, DType::f8e4m3);
  ASSERT_TRUE(again->rows[0].launch.has_value());
  const trial::Job& job = again->rows[0].launch->job;
  EXPECT_EQ(job.params[0].value, -5);
  EXPECT_EQ(job.params[1].region, 0);
  EXPECT_EQ(job.maps[0].base.value, 32);
  EXPECT_EQ(job.maps[0].type, DType::bf16);
  EXPECT_FALSE(again->rows[1].launch.has_value());
}

TEST(Record, WithoutAWinnerItIsPartial) {
  Record record = example();
  record.chosen = record.complete = false;
  record.winner = record.text_hash = "";
  record.rows[0].report.status = Status::ranked;
  const auto again = parse_record(to_json(record));
  ASSERT_TRUE(again.has_value());
  EXPECT_FALSE(again->chosen);
  EXPECT_EQ(again->winning_row(), nullptr);
}

TEST(Record, AnEmptyConfigurationCanWin) {
  Record record = example();
  record.rows = {row_of("", Status::chosen, 1, 5)};
  record.winner = "";
  record.text_hash = "text of ";
  const auto again = parse_record(to_json(record));
  ASSERT_TRUE(again.has_value());
  EXPECT_TRUE(again->chosen);
}

struct Damage {
  const char* name;
  std::function<void(ordered_json&)> change;
  const char* why;
};

TEST(Record, WhatIsNotExactlyARecordIsNone) {
  const std::vector<Damage> damages = {
      {"another format", [](auto& j) { j["format"] = 1; }, "format 1"},
      {"a later format", [](auto& j) { j["format"] = 3; }, "format 3"},
      {"no format", [](auto& j) { j.erase("format"); }, "format is missing"},
      {"identity of another type", [](auto& j) { j["identity"] = 7; }, "identity is not a string"},
      {"an empty identity", [](auto& j) { j["identity"] = ""; }, "identity is empty"},
      {"complete is a number", [](auto& j) { j["complete"] = 1; }, "complete is not true or false"},
      {"negative seconds", [](auto& j) { j["seconds"] = -1; }, "seconds is -1"},
      {"a negative time", [](auto& j) { j["candidates"][0]["time_us"] = -0.5; }, "time_us is -0.5"},
      {"a time that is a string", [](auto& j) { j["candidates"][0]["time_us"] = "3"; }, "time_us is not a number"},
      {"a time that is null, as NaN is written", [](auto& j) { j["candidates"][0]["time_us"] = std::nan(""); },
       "time_us is not a number"},
      {"measured without a time", [](auto& j) { j["candidates"][0]["time_us"] = 0; }, "took no time"},
      {"an unknown status", [](auto& j) { j["candidates"][1]["status"] = "lucky"; }, "lucky is no status"},
      {"two rows alike", [](auto& j) { j["candidates"][1]["config"] = "x=1"; }, "two rows of x=1"},
      {"two chosen", [](auto& j) { j["candidates"][1]["status"] = "chosen"; }, "more than one row is chosen"},
      {"a winner that is no row", [](auto& j) { j["winner"] = "x=9"; }, "x=9 is not the chosen row"},
      {"a winner that is not chosen", [](auto& j) { j["winner"] = "x=2"; }, "x=2 is not the chosen row"},
      {"no winner, but whole", [](auto& j) { j["winner"] = nullptr; }, "there is no winner"},
      {"another text", [](auto& j) { j["text_hash"] = "f00"; }, "text hash is not that of its row"},
      {"a fraction of a warp", [](auto& j) { j["candidates"][0]["warps"] = 1.5; }, "warps is not an integer"},
      {"a negative register count", [](auto& j) { j["candidates"][0]["registers"] = -1; }, "registers is not"},
      {"too many bytes", [](auto& j) { j["candidates"][0]["shared_bytes"] = 1LL << 33; }, "shared_bytes is not"},
      {"a remark that is a number", [](auto& j) { j["candidates"][0]["remarks"][0] = 1; }, "a remark is not a string"},
      {"candidates of another type", [](auto& j) { j["candidates"] = 1; }, "candidates is not a list"},
      {"a row that is a string", [](auto& j) { j["candidates"][0] = "x"; }, "was expected"},
      {"an entry that leaves the cache", [](auto& j) { j["candidates"][0]["launch"]["entry"] = "../../etc"; },
       "no key of the cache"},
      {"a grid of two",
       [](auto& j) {
         j["candidates"][0]["launch"]["grid"] = {1, 2};
       },
       "2 numbers instead of 3"},
      {"an empty grid",
       [](auto& j) {
         j["candidates"][0]["launch"]["grid"] = {0, 1, 1};
       },
       "grid is not"},
      {"a parameter in no buffer", [](auto& j) { j["candidates"][0]["launch"]["params"][1]["buffer"] = 1; },
       "buffer is not in the list"},
      {"a map of rank 6",
       [](auto& j) {
         auto& map = j["candidates"][0]["launch"]["maps"][0];
         map["dims"] = map["box"] = {1, 1, 1, 1, 1, 1};
         map["strides"] = {16, 16, 16, 16, 16};
       },
       "the hardware does not have"},
      {"an element type that is none", [](auto& j) { j["buffers"][0]["type"] = "f12"; }, "f12 is no element type"},
  };
  const std::string whole = to_json(example());
  for (const Damage& damage : damages) {
    ordered_json json = ordered_json::parse(whole);
    damage.change(json);
    std::string why;
    EXPECT_FALSE(parse_record(json.dump(), &why).has_value()) << damage.name;
    EXPECT_THAT(why, HasSubstr(damage.why)) << damage.name;
  }
  for (const char* text : {"", "[]", "{}", "null", "{\"format\": 2}", "{\"format\": 2, \"seconds\": 1e999}"})
    EXPECT_FALSE(parse_record(text).has_value()) << text;
}

TEST(Record, EveryFieldIsNeeded) {
  const ordered_json whole = ordered_json::parse(to_json(example()));
  for (const auto& [name, value] : whole.items()) {
    ordered_json json = whole;
    json.erase(name);
    EXPECT_FALSE(parse_record(json.dump()).has_value()) << name;
  }
  for (const auto& [name, value] : whole["candidates"][0].items()) {
    ordered_json json = whole;
    json["candidates"][0].erase(name);
    EXPECT_EQ(parse_record(json.dump()).has_value(), name == "launch") << name;
  }
}

TEST(Record, UnknownFieldsAreIgnored) {
  ordered_json json = ordered_json::parse(to_json(example()));
  json["remark"] = {1, 2};
  json["candidates"][0]["colour"] = "red";
  const auto record = parse_record(json.dump());
  ASSERT_TRUE(record.has_value());
  EXPECT_EQ(to_json(*record), to_json(example()));
}

// Bytes of a record changed at random: never a crash, and what is still read is a record in every respect.
TEST(Record, RandomDamage) {
  const std::string whole = to_json(example());
  std::mt19937 random(7);
  for (int i = 0; i < 3000; ++i) {
    std::string text = whole;
    for (int k = 0; k < 3; ++k) text[random() % text.size()] = static_cast<char>(random() % 128);
    if (const auto record = parse_record(text)) {
      const RecordRow* winner = record->winning_row();
      ASSERT_TRUE(!record->chosen || (winner != nullptr && winner->report.status == Status::chosen));
      for (const RecordRow& row : record->rows) ASSERT_GE(row.report.time_us, 0);
    }
  }
}

TEST(Archive, RoundTripAndDamage) {
  Record other = example();
  other.identity = "script B";
  const std::string text = to_archive({example(), other});
  std::string why;
  const auto records = parse_archive(text, &why);
  ASSERT_TRUE(records.has_value()) << why;
  ASSERT_EQ(records->size(), 2U);
  EXPECT_EQ(to_json((*records)[1]), to_json(other));
  for (std::size_t at = 0; at < text.size(); at += 97) {
    std::string damaged = text;
    damaged[at] = damaged[at] == '3' ? '4' : '3';
    EXPECT_FALSE(parse_archive(damaged, &why).has_value()) << at;
  }
  EXPECT_FALSE(parse_archive(text.substr(0, text.size() / 2), &why).has_value());
  EXPECT_THAT(why, HasSubstr("checksum"));
}

TEST(Merge, MoreRoundsThenTheNewerOne) {
  Record a = example(), b = example();
  a.rows = {row_of("x=1", Status::chosen, 10, 15), row_of("x=2", Status::ranked, 12, 15),
            row_of("x=3", Status::ranked, 14, 15, 1000)};
  b.rows = {row_of("x=1", Status::ranked, 11, 5), row_of("x=2", Status::chosen, 9, 40),
            row_of("x=3", Status::ranked, 13, 15, 2000)};
  b.winner = "x=2";
  b.text_hash = "text of x=2";
  std::vector<std::string> taken;
  const Record merged = merge(a, b, &taken);
  EXPECT_THAT(taken, ElementsAre("x=2", "x=3"));
  EXPECT_EQ(merged.rows[0].report.time_us, 10);
  EXPECT_EQ(merged.rows[1].report.time_us, 9);
  EXPECT_EQ(merged.rows[2].report.time_us, 13);
  EXPECT_EQ(merged.winner, "x=2");
  EXPECT_TRUE(parse_record(to_json(merged)).has_value());
}

TEST(Merge, WhatIsKnownBeatsWhatIsNot) {
  Record a = example(), b = example();
  a.rows = {row_of("x=1", Status::chosen, 10, 15), row_of("x=2", Status::unused, 0, 0),
            row_of("x=3", Status::failed, 0, 0, 5000), row_of("x=4", Status::ranked, 8, 15)};
  b.rows = {row_of("x=1", Status::chosen, 10, 15), row_of("x=2", Status::failed, 0, 0),
            row_of("x=3", Status::ranked, 11, 5, 4000), row_of("x=4", Status::rejected, 0, 0, 500)};
  const Record merged = merge(a, b);
  EXPECT_EQ(merged.rows[1].report.status, Status::failed);
  EXPECT_EQ(merged.rows[2].report.status, Status::ranked) << "a time proves that it runs";
  EXPECT_EQ(merged.rows[3].report.status, Status::rejected) << "it was wrong once";
  EXPECT_EQ(merged.winner, "x=1");
}

TEST(Merge, PartsMakeAWhole) {
  Record a = example(), b = example();
  a.complete = b.complete = false;
  a.rows = {row_of("x=1", Status::chosen, 10, 15), row_of("x=2", Status::unused, 0, 0)};
  b.rows = {row_of("x=1", Status::unused, 0, 0), row_of("x=2", Status::chosen, 9, 15)};
  b.winner = "x=2";
  b.text_hash = "text of x=2";
  EXPECT_TRUE(merge(a, b).complete);
  EXPECT_EQ(merge(a, b).winner, "x=2");
  EXPECT_FALSE(merge(a, a).complete);
}

TEST(Merge, IsTheSameInEitherOrder) {
  std::mt19937 random(3);
  const Status statuses[] = {Status::unused, Status::failed, Status::ranked, Status::rejected, Status::dropped};
  for (int i = 0; i < 500; ++i) {
    const auto make = [&] {
      Record record = example();
      record.rows.clear();
      record.rows.push_back(row_of("x=1", Status::chosen, 5, 5, 100));
      for (const char* config : {"x=2", "x=3", "x=4"}) {
        const Status status = statuses[random() % 5];
        const int rounds = status == Status::ranked || status == Status::dropped ? static_cast<int>(random() % 3) : 0;
        record.rows.push_back(row_of(config, status, rounds > 0 ? 1.0 + static_cast<double>(random() % 9) : 0, rounds,
                                     static_cast<std::int64_t>(random() % 3)));
      }
      return record;
    };
    const Record a = make(), b = make();
    const Record ab = merge(a, b), ba = merge(b, a);
    EXPECT_EQ(ab.winner, ba.winner);
    for (std::size_t k = 0; k < ab.rows.size(); ++k) {
      EXPECT_EQ(ab.rows[k].report.status, ba.rows[k].report.status);
      EXPECT_EQ(ab.rows[k].report.time_us, ba.rows[k].report.time_us);
    }
    EXPECT_EQ(to_json(merge(ab, a)), to_json(ab)) << "merging again changes nothing";
    EXPECT_TRUE(parse_record(to_json(ab)).has_value());
  }
}

TEST(Merge, NeverMixesIdentities) {
  Record other = example();
  other.identity = "script B";
  EXPECT_EQ(test::error_of([&] { merge(example(), other); }).kind(), ErrorKind::internal);
}

TEST(Merge, LaunchesWithOtherBuffersAreLeftOut) {
  Record a = example(), b = example();
  b.buffers[0].region.bytes = 4096;
  b.rows[0].report.rounds = 60;
  EXPECT_FALSE(merge(a, b).rows[0].launch.has_value());
  b.buffers = a.buffers;
  EXPECT_TRUE(merge(a, b).rows[0].launch.has_value());
}

struct StoreTest : test::RuntimeTest {};

TEST_F(StoreTest, KeepsTheRowsOfTheSameTextOnly) {
  const runtime::Cache cache(root_);
  const runtime::RecordStore store(cache, example().identity);
  Record first = example();
  first.rows[1].report.time_us = 3;
  first.rows[1].report.rounds = 40;
  store.save(first);
  Record second = example();
  store.save(second);
  EXPECT_EQ(store.load()->rows[1].report.time_us, 3) << "of the same text and better founded";
  EXPECT_EQ(store.load()->winner, "x=2");
  second.rows[1].text_hash = "edited";
  store.save(second);
  EXPECT_EQ(store.load()->rows[1].report.time_us, 13);
  EXPECT_EQ(store.load()->winner, "x=1");
  const runtime::RecordStore other(cache, "script B");
  EXPECT_FALSE(other.load().has_value());
}

TEST_F(StoreTest, ARecordOfFormat1IsAQuietMiss) {
  const runtime::Cache cache(root_);
  const runtime::RecordStore store(cache, "id");
  store.save(example());  // makes the folder
  std::ofstream(store.path()) << runtime::seal(R"({"format": 1, "winner": "x=1", "identity": "id", "candidates": []})");
  EXPECT_FALSE(store.load().has_value());
  EXPECT_EQ(messages_, "");
}

TEST(TakeOver, OnlyOfTheSameTextAndNeverEverything) {
  Record earlier = example();
  earlier.rows = {row_of("x=1", Status::ranked, 10, 15), row_of("x=2", Status::rejected, 0, 0),
                  row_of("x=3", Status::dropped, 50, 3), row_of("x=4", Status::failed, 0, 0)};
  std::vector<CandidateReport> rows(4);
  for (std::size_t i = 0; i < 4; ++i) {
    rows[i].config = earlier.rows[i].report.config;
    rows[i].status = Status::ranked;
  }
  const std::vector<CandidateReport> fresh = rows;
  std::vector<std::int64_t> measured(4);
  const std::vector<std::string> texts = {"text of x=1", "edited", "text of x=3", "text of x=4"};
  runtime::take_over(earlier, texts, &rows, &measured);
  EXPECT_EQ(rows[0].status, Status::ranked);
  EXPECT_EQ(rows[0].result_class, 0);
  EXPECT_EQ(rows[1].status, Status::ranked);
  EXPECT_EQ(rows[1].result_class, -1);
  EXPECT_EQ(rows[2].status, Status::dropped);
  EXPECT_EQ(rows[3].status, Status::failed);
  EXPECT_THAT(measured, ElementsAre(1000, 0, 1000, 1000));
  for (auto& row : earlier.rows) row.report.status = Status::failed;
  rows = fresh;
  runtime::take_over(earlier, {"text of x=1", "text of x=2", "text of x=3", "text of x=4"}, &rows, &measured);
  EXPECT_EQ(rows[0].status, Status::ranked) << "nothing would be left";
}

}  // namespace
}  // namespace tessera::tune
