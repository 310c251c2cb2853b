// Division by a run-time number that is the same for many dividends: one multiplication and one shift each.
#pragma once

#include "tessera/lang/scalar_functions.hpp"

namespace tessera {

struct DivMod {
  Int32 quotient, remainder;
};

// A positive divisor whose multiplier is computed where the object is made: do that at the kernel's start. A constant
// divisor is left to the compiler's own division.
class FastDivisor {
 public:
  explicit FastDivisor(const Int32& divisor, SourceLoc loc = SourceLoc::here()) : divisor_(divisor.ref()) {
    const detail::Bounds b = detail::bounds_of(divisor_);
    if (b.high < 1) {
      detail::report(loc, "FastDivisor of a number that is not positive", "divide by 1 or more");
      divisor_ = detail::literal_ref<std::int32_t>(1, loc);
    }
    constant_ = b.low == b.high || b.high < 1;
    if (!constant_) prepare(loc);
  }

  // The quotient of x, which is not negative.
  Int32 divide(const Int32& x, SourceLoc loc = SourceLoc::here()) const {
    check(x, loc);
    const Int32 d(divisor_);
    if (constant_) return x / d;
    const UInt64 product = cast<UInt64>(x, loc) * UInt64(multiplier_);
    return Int32(
        detail::bind_bounded(cast<Int32>(product >> UInt64(shift_), loc).ref(), "quotient", 0, highest(x), loc));
  }
  DivMod divmod(const Int32& x, SourceLoc loc = SourceLoc::here()) const {
    const Int32 quotient = divide(x, loc);
    const Int32 d(divisor_);
    if (constant_) return {quotient, x % d};
    const std::int64_t most = std::min(highest(x), detail::bounds_of(divisor_).high - 1);
    return {quotient, Int32(detail::bind_bounded((x - quotient * d).ref(), "remainder", 0, most, loc))};
  }
  Int32 divisor() const { return Int32(divisor_); }

 private:
  static std::int64_t highest(const Int32& x) {
    return std::min<std::int64_t>(detail::bounds_of(x.ref()).high, INT32_MAX);
  }
  static void check(const Int32& x, SourceLoc loc) {
    if (detail::bounds_of(x.ref()).high < 0)
      detail::report(loc, "a negative number is divided by a FastDivisor", "the dividend is 0 or more");
  }
  // With l the bits of d - 1 and m = 2^(31+l) / d + 1, rounded down, x m / 2^(31+l) exceeds x / d by less than 1 / d
  // for every x below 2^31, because d m exceeds 2^(31+l) by at most d <= 2^l. So rounding down gives the quotient. m
  // has at most 32 bits, so the product has at most 63. (Granlund and Montgomery, Division by Invariant Integers, PLDI
  // 1994.)
  void prepare(SourceLoc loc) {
    const Int32 d(detail::bind_bounded(divisor_, "divisor", 1, INT32_MAX, loc));
    divisor_ = d.ref();
    detail::ScalarRef bits = detail::literal_ref<std::int32_t>(0, loc), rest = (d - 1).ref();
    for (const int step : {16, 8, 4, 2, 1}) {
      const Bool more = Int32(rest) >= (1 << step);
      bits = detail::bind_value(select(more, Int32(bits) + step, Int32(bits), loc).ref(), "bits", loc);
      rest = detail::bind_value(select(more, Int32(rest) >> step, Int32(rest), loc).ref(), "rest", loc);
    }
    const UInt64 shift = cast<UInt64>(Int32(bits) + Int32(rest) + 31, loc);  // the rest is 0 or 1
    shift_ = detail::bind_value(shift.ref(), "shift", loc);
    const UInt64 one(1, loc);
    multiplier_ = detail::bind_value(((one << UInt64(shift_)) / cast<UInt64>(d, loc) + 1).ref(), "multiplier", loc);
  }

  detail::ScalarRef divisor_, multiplier_, shift_;
  bool constant_ = false;
};

}  // namespace tessera
