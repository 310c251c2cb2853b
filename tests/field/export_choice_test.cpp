// Which kernels an exported matmul gets: pinned ones, those of tuning records, the model's.
#include <algorithm>

#include "export_steps.hpp"
#include "kernels/select.hpp"
#include "runtime/cache.hpp"
#include "tune/record.hpp"

namespace tessera::test {
namespace {
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// The model has SplitMatmul before PersistentMatmul, but close enough that matmul() measures both.
constexpr std::int64_t m = 128, n = 512, k = 1536;

class ExportChoice : public ExportSteps {
 protected:
  static MatmulExport of(const std::string& config, DType in = DType::f16) {
    MatmulExport what;
    what.in = in;
    what.out = in;
    what.sizes = {{m, n, k}};
    what.config = config;
    return what;
  }
  ExportReport pinned(const std::string& config) { return written(of(config), options("pinned")); }
  std::string refusal(const MatmulExport& what, const std::string& tuning = "") {
    ExportOptions wanted = options("refused");
    wanted.tuning = tuning;
    const Error error = error_of([&] { export_matmul(what, wanted); });
    EXPECT_EQ(error.kind(), ErrorKind::user);
    EXPECT_FALSE(fs::exists(wanted.directory)) << "refused, but written";
    return error.what();
  }
};

TEST_F(ExportChoice, PinsTheKernel) {
  const ExportReport persistent = pinned("kernel=PersistentMatmul");
  EXPECT_EQ(persistent.kernel, "PersistentMatmul");
  EXPECT_THAT(persistent.buckets.at(0).steps, IsEmpty());
  EXPECT_EQ(persistent.buckets[0].chosen, "pinned: kernel=PersistentMatmul");
  EXPECT_THAT(persistent.text(), HasSubstr("what is not pinned is the choice of matmul()'s model"));
  EXPECT_EQ(pinned("kernel=PitchMatmul").kernel, "PitchMatmul");
  const ExportReport split = pinned("splits=3");
  ASSERT_EQ(split.buckets.at(0).steps.size(), 2U);
  EXPECT_EQ(split.buckets[0].steps[0].what, "multiplies, k in 3 parts");
  EXPECT_EQ(split.buckets[0].chosen, "pinned: splits=3");
  EXPECT_THAT(pinned("kernel=SplitMatmul, splits=1").buckets.at(0).steps, IsEmpty());
}

TEST_F(ExportChoice, PinsTheConfiguration) {
  const std::string tile = "block_m=32,block_n=128";
  const ExportReport one = pinned("kernel=SplitMatmul," + tile + ",splits=4");
  EXPECT_THAT(one.buckets.at(0).config, HasSubstr(tile));
  EXPECT_THAT(one.buckets[0].steps.at(0).what, HasSubstr("in 4 parts"));
  // A configuration as a report gives it, whole.
  const ExportReport again = pinned("splits=4," + one.buckets[0].config);
  EXPECT_EQ(again.buckets.at(0).config, one.buckets[0].config);
  EXPECT_NE(pinned("splits=4").buckets.at(0).config, one.buckets[0].config) << "else the model had chosen it anyway";
}

TEST_F(ExportChoice, SaysWhatMayBePinned) {
  EXPECT_THAT(refusal(of("block_x=64")), HasSubstr("no kernel has a field \"block_x\""));
  EXPECT_THAT(refusal(of("block_x=64")), ContainsRegex("the fields are kernel, splits, .*block_m.*"));
  EXPECT_THAT(refusal(of("kernel=Matmul")), HasSubstr("matmul of 128 x 512 x 1536: no kernel has kernel=Matmul"));
  EXPECT_THAT(refusal(of("kernel=Matmul")), ContainsRegex("kernel=PersistentMatmul \\(.*block_m 64, 128, 192, 256"));
  EXPECT_THAT(refusal(of("kernel=Matmul")), ContainsRegex("kernel=SplitMatmul \\(splits 1, 2, 3, 4.*warpgroups 1, 2"));
  EXPECT_THAT(refusal(of("kernel=PersistentMatmul,splits=2")),
              HasSubstr("no kernel has kernel=PersistentMatmul,splits=2"));
  EXPECT_THAT(refusal(of("splits=7")), HasSubstr("not in all combinations"));
  EXPECT_THAT(refusal(of("block_m")), HasSubstr("is not of the form field=value"));
  EXPECT_THAT(refusal(of("=64")), HasSubstr("is not of the form field=value"));
  EXPECT_THAT(refusal(of("block_m=,splits=1")), HasSubstr("is not of the form field=value"));
  EXPECT_THAT(refusal(of("splits=1,splits=2")), HasSubstr("splits is given twice"));
  MatmulExport column = of("splits=4");
  column.sizes = {{m, 1, k}};
  EXPECT_THAT(refusal(column), HasSubstr("no single kernel, which a matrix of one column gets, has splits=4"));
}

// The records of a product that matmul() tuned on the stand-in, with times of the test's own.
class ExportTuned : public ExportChoice {
 protected:
  void SetUp() override {
    ExportChoice::SetUp();
    const Device device = Device::cuda(0);
    const auto a = device.empty<float16>({m, k}), b = device.empty<float16>({n, k}), c = device.empty<float16>({m, n});
    const Arguments x{m, k, k, n, 1, 0, address_of(a.data()), address_of(b.data()), address_of(c.data()), 0};
    const kernels::Problem p = problem(of(""), n, k, x);
    static_cast<void>(kernels::select({p, device, nullptr, SourceLoc::here()}));  // the first call of matmul()
    fs::rename(root_ / "tuning", records_ = root_ / "records");
  }
  static tune::Record read(const fs::path& file) {
    std::string why;
    auto record = tune::parse_record(runtime::unseal(text_of(file)).value(), &why);
    EXPECT_TRUE(record) << why;
    return std::move(record.value());
  }
  // Has the records of the script decide for their last timed candidate: in that time the first, each other one in 50
  // more. Returns the configuration of the first.
  std::string decide(const std::string& script, double us, const std::string& device = "Fake H200") {
    std::string winner;
    for (const fs::path& file : files()) {
      tune::Record record = read(file);
      if (record.kernel != script) continue;
      tune::RecordRow* last = nullptr;
      for (tune::RecordRow& row : record.rows) {
        if (row.report.status == CandidateReport::Status::chosen) row.report.status = CandidateReport::Status::ranked;
        if (row.report.status == CandidateReport::Status::ranked && row.report.rounds > 0) last = &row;
      }
      if (last == nullptr) continue;
      last->report.status = CandidateReport::Status::chosen;
      last->report.time_us = us;
      us += 50;
      record.device = device;
      record.text_hash = last->text_hash;
      record.winner = last->report.config;
      if (winner.empty()) winner = record.winner;
      std::ofstream(file) << runtime::seal(tune::to_json(record));
      static_cast<void>(read(file));  // it has to stay a record
    }
    EXPECT_NE(winner, "") << "nothing of " << script << " was timed";
    return winner;
  }
  std::vector<fs::path> files() const {
    std::vector<fs::path> result;
    for (const auto& entry : fs::directory_iterator(records_)) result.push_back(entry.path());
    std::sort(result.begin(), result.end());
    return result;
  }
  ExportReport tuned(const MatmulExport& what) {
    ExportOptions wanted = options("tuned");
    wanted.tuning = records_.string();
    return written(what, wanted);
  }
  fs::path records_;
};

TEST_F(ExportTuned, TheFastestOfTheRecordsIsTaken) {
  const std::string persistent = decide("PersistentMatmul", 5), split = decide("SplitMatmul", 900);
  const ExportReport first = tuned(of(""));
  EXPECT_EQ(first.kernel, "PersistentMatmul") << "the model prefers the other one";
  EXPECT_EQ(first.buckets.at(0).config, persistent);
  EXPECT_THAT(first.buckets[0].chosen,
              ContainsRegex("by the tuning records of Fake H200, CUDA 13.0, the fastest of [0-9]"));
  EXPECT_THAT(first.text(), Not(HasSubstr("nothing was measured")));
  decide("PersistentMatmul", 900);
  decide("SplitMatmul", 5);
  const ExportReport second = tuned(of(""));
  EXPECT_EQ(second.kernel, "SplitMatmul");
  EXPECT_EQ(second.buckets.at(0).config, split);
}

TEST_F(ExportTuned, ARecordAloneDoes) {
  decide("PersistentMatmul", 5);
  for (const fs::path& file : files()) {
    if (read(file).kernel == "PersistentMatmul") records_ = file;
  }
  const ExportReport report = tuned(of(""));
  EXPECT_EQ(report.kernel, "PersistentMatmul");
  EXPECT_EQ(report.buckets.at(0).chosen, "by the tuning record of Fake H200, CUDA 13.0");
}

// Times of two clocks say nothing of each other: the device that knows most of the kernels decides.
TEST_F(ExportTuned, DevicesAreNotMixed) {
  decide("SplitMatmul", 900);
  decide("PersistentMatmul", 5, "Another");
  std::size_t splits = 0;
  for (const fs::path& file : files()) splits += read(file).kernel == "SplitMatmul" ? 1 : 0;
  ASSERT_GT(splits, 1U) << "otherwise neither knows more";
  EXPECT_EQ(tuned(of("")).kernel, "SplitMatmul");
}

TEST_F(ExportTuned, PinsComeFirst) {
  const std::string persistent = decide("PersistentMatmul", 5), split = decide("SplitMatmul", 900);
  EXPECT_EQ(tuned(of("kernel=SplitMatmul")).buckets.at(0).config, split) << "the record of what is pinned";
  const ExportReport other = tuned(of("splits=8,kernel=SplitMatmul"));
  EXPECT_EQ(other.buckets.at(0).chosen, "pinned: splits=8,kernel=SplitMatmul") << "there is no record of it";
}

TEST_F(ExportTuned, RecordsOfOtherProductsDoNotCount) {
  decide("PersistentMatmul", 5);
  const std::string model = "by the model of matmul(), for there is no tuning record";
  EXPECT_EQ(tuned(of("", DType::bf16)).buckets.at(0).chosen, model) << "another type";
  MatmulExport other = of("");
  other.sizes = {{m + 1, n, k}};
  EXPECT_EQ(tuned(other).buckets.at(0).chosen, model) << "another bucket";
  other.sizes = {{m, n + 8, k}};
  EXPECT_EQ(tuned(other).buckets.at(0).chosen, model) << "another n";
  other.sizes = {{m, n, k}};
  other.activation = Activation::relu;
  EXPECT_EQ(tuned(other).buckets.at(0).chosen, model) << "another epilogue";
  EXPECT_THAT(tuned(other).text(), HasSubstr("nothing was measured"));
  EXPECT_THAT(refusal(of(""), (root_ / "nothing").string()), HasSubstr("holds no tuning record"));
}

}  // namespace
}  // namespace tessera::test
