#include "check/timeline_svg.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace tessera::checker {
namespace {
using sim::Timeline;
using sim::TimelineEvent;
using Kind = TimelineEvent::Kind;
using Cover = std::array<double, kind_count>;

// Time across the picture: a margin of a hundredth at both ends, as the script has it.
struct Scale {
  double end = 1, width = 100;
  double operator()(std::uint64_t time) const {
    return width * (static_cast<double>(time) + 0.01 * end) / (1.02 * end);
  }
};
Scale scale_of(const Timeline& timeline, double width) {
  return {static_cast<double>(std::max<std::uint64_t>(1, end_of(timeline))), width};
}

struct Bar {
  Kind kind = Kind::run;
  double left = 0, right = 0;
};

// The bars of a lane: events of a column's width or more, and of the rest, which lies in between, one a column, of the
// kind that covers most of it; equal neighbours are joined.
class LaneBars {
 public:
  explicit LaneBars(const Scale& scale) : scale_(scale) {}
  void add(const TimelineEvent& event) {
    const double left = scale_(event.begin), right = std::max(left, scale_(event.end));
    if (right - left >= 1) {
      end_column();
      bars_.push_back({event.kind, left, right - left > 3 ? right - 0.5 : right});
      return;
    }
    if (std::floor(left) != column_) end_column();
    column_ = std::floor(left);
    cover_[static_cast<std::size_t>(event.kind)] += right - left + 1e-9;  // events without length count, too
  }
  std::vector<Bar> take() {
    end_column();
    return std::move(bars_);
  }

 private:
  void end_column() {
    if (column_ < 0) return;
    const auto kind = static_cast<Kind>(std::max_element(cover_.begin(), cover_.end()) - cover_.begin());
    if (!bars_.empty() && bars_.back().kind == kind && bars_.back().right == column_) {
      bars_.back().right = column_ + 1;
    } else {
      bars_.push_back({kind, column_, column_ + 1});
    }
    cover_.fill(0);
    column_ = -1;
  }

  const Scale& scale_;
  std::vector<Bar> bars_;
  Cover cover_{};
  double column_ = -1;
};

class Paths {
 public:
  void add(Kind kind, double left, double top, double width, double height) {
    of_kind_[static_cast<std::size_t>(kind)] +=
        fmt::format("M{:.6g} {:.6g}h{:.4g}v{:.4g}h{:.4g}z", left, top, width, height, -width);
    ++count_;
  }
  std::size_t count() const { return count_; }
  std::string svg() const {
    std::string out;
    for (std::size_t kind = 0; kind < of_kind_.size(); ++kind) {
      if (of_kind_[kind].empty()) continue;
      out += fmt::format("<path class=\"{}\" d=\"{}\"></path>\n", name_of(static_cast<Kind>(kind)), of_kind_[kind]);
    }
    return out;
  }

 private:
  std::array<std::string, kind_count> of_kind_;
  std::size_t count_ = 0;
};

void add_row(const Timeline& timeline, const TrackEvents& track, const Row& row, const Scale& scale, Paths& paths) {
  for (std::size_t lane = 0; lane < track.lanes.size(); ++lane) {
    const LaneBox box = lane_box(row, track.lanes.size(), lane);
    LaneBars bars(scale);
    for (const std::uint32_t index : track.lanes[lane]) bars.add(timeline.events[index]);
    for (const Bar& bar : bars.take()) {
      const double high = bar.kind == Kind::wait ? std::min(box.height, std::max(2.0, box.height / 4)) : box.height;
      paths.add(bar.kind, bar.left, row.top + box.top + box.height - high, bar.right - bar.left, high);
    }
  }
  LaneBars arrivals(scale);
  for (const std::uint32_t index : track.arrivals) arrivals.add(timeline.events[index]);
  for (const Bar& bar : arrivals.take()) {
    paths.add(bar.kind, bar.left, row.top + row.height - 8, bar.right - bar.left, 5);
  }
}

// A triangle in its row and a line across all of them for each finding, but one a column.
std::string marks_svg(const Timeline& timeline, const std::vector<TrackEvents>& tracks, const std::vector<Row>& rows) {
  const Scale percent = scale_of(timeline, 100);
  std::string out = "<g class=\"marks\">\n";
  for (const Row& row : rows) {
    double before = -1;
    for (const std::uint32_t index : tracks[row.track].marks) {
      const TimelineEvent& event = timeline.events[index];
      const double x = percent(event.begin);
      if (x - before < 0.1) continue;
      before = x;
      out += fmt::format(
          "<svg x=\"{:.2f}%\" overflow=\"visible\" class=\"mark\"><title>{}: {}</title><path class=\"reach\" d=\"M-0.5 "
          "0h1v{}h-1z\"></path>"
          "<path class=\"flag\" d=\"M-6 {}h12l-6 10z\"></path></svg>\n",
          x, escaped(timeline.tracks[row.track].name), escaped(event.label), height_of(rows), row.top + 1);
    }
  }
  return out + "</g>\n";
}

// 1, 2 or 5 times a power of ten, so that about eight steps cover the run.
std::uint64_t tick_step(std::uint64_t end) {
  std::uint64_t power = 1;
  while (power * 10 <= end / 8) power *= 10;
  for (const std::uint64_t m : {1U, 2U, 5U}) {
    if (power * m * 8 >= end) return power * m;
  }
  return power * 10;
}

std::string grouped(std::uint64_t number) {
  std::string digits = std::to_string(number);
  for (std::size_t at = digits.size(); at > 3; at -= 3) digits.insert(at - 3, ",");
  return digits;
}

template <typename F>
void for_each_tick(const Timeline& timeline, F&& f) {
  const Scale percent = scale_of(timeline, 100);
  const std::uint64_t end = end_of(timeline), step = tick_step(end);
  for (std::uint64_t time = 0; time <= end; time += step) f(time, fmt::format("{:.2f}%", percent(time)));
}

}  // namespace

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      case '\'': out += "&#39;"; break;
      default: {
        const bool forbidden = static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t';
        out += forbidden ? "&#xFFFD;" : std::string(1, c);
      }
    }
  }
  return out;
}

std::string picture_svg(const Timeline& timeline, const std::vector<TrackEvents>& tracks,
                        const std::vector<Row>& rows) {
  const int height = height_of(rows);
  std::string out;
  for_each_tick(timeline, [&](std::uint64_t, const std::string& x) {
    out += fmt::format("<rect class=\"grid\" x=\"{}\" y=\"0\" width=\"1\" height=\"{}\"></rect>\n", x, height);
  });
  for (const Row& row : rows) {
    const int foot = row.top + row.height - 1;
    out += fmt::format("<rect class=\"grid\" x=\"0\" y=\"{}\" width=\"100%\" height=\"1\"></rect>\n", foot);
  }
  for (int columns = 1024;; columns /= 2) {
    const Scale scale = scale_of(timeline, columns);
    Paths paths;
    for (const Row& row : rows) add_row(timeline, tracks[row.track], row, scale, paths);
    if (paths.count() > most_rectangles && columns > 1) continue;
    out += fmt::format("<svg width=\"100%\" height=\"{0}\" viewBox=\"0 0 {1} {0}\" preserveAspectRatio=\"none\">\n",
                       std::max(1, height), columns);
    out += paths.svg() + "</svg>\n";
    break;
  }
  return out + marks_svg(timeline, tracks, rows);
}

std::string axis_svg(const Timeline& timeline) {
  std::string out;
  for_each_tick(timeline, [&](std::uint64_t time, const std::string& x) {
    out += fmt::format(
        "<rect class=\"tick\" x=\"{0}\" y=\"17\" width=\"1\" height=\"7\"></rect><text x=\"{0}\" y=\"15\">{1}</text>\n",
        x, grouped(time));
  });
  return out;
}

}  // namespace tessera::checker
