// Which candidates computed the same.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "tune/compare.hpp"

namespace tessera::tune {

// The first difference between two sets of outputs; none if they agree (compare.hpp).
Difference difference(const std::vector<Output>& expected, const std::vector<Output>& found);

// Candidates whose outputs agree form a class. The largest class is right; between classes of equal size the one with
// fewer NaNs is, for a NaN is what an output holds that was not written.
class Agreement {
 public:
  struct Class {
    std::vector<Output> outputs;  // of its first member
    std::vector<std::size_t> members;
  };
  // Puts the candidate into its class and returns the class's number. Outputs that nobody needs go to `spare`.
  std::size_t add(std::size_t candidate, std::vector<Output> outputs, std::vector<Output>* spare);
  // A candidate that is known to agree with a class.
  void join(std::size_t number, std::size_t candidate) { classes_[number].members.push_back(candidate); }

  const std::vector<Class>& classes() const { return classes_; }
  bool empty() const { return classes_.empty(); }
  // The number of the class that is right; null if neither size nor NaNs tell.
  std::optional<std::size_t> right() const;

 private:
  std::vector<Class> classes_;
};

}  // namespace tessera::tune
