// Scalar expressions as C, with the integers of ir::evaluate_on_host.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "ir/expr.hpp"

namespace tessera::exporter {

// Every value is an int64_t that holds the value of its type. Operators that may wrap or fail are calls of small
// functions (helper_text); one that fails sets the variable `bad`. Subexpressions that occur often become variables.
class CExpressions {
 public:
  // `params`: C text of each run-time parameter as an int64_t, and its type.
  struct Param {
    std::string text;
    DType type;
  };
  explicit CExpressions(std::vector<Param> params) : params_(std::move(params)) {}

  // To be called with all roots before the first text().
  void count(const ir::Expr* root);
  // May add to definitions(). `failing` is set if evaluating the text may set `bad`.
  std::string text(const ir::Expr* root, bool* failing = nullptr);
  // Whether evaluating it can be undefined: a division or a shift by something that is not known to be right.
  bool can_fail(const ir::Expr* e);
  // Takes the definitions "const int64_t t0 = ...;" that texts since the last call refer to.
  std::vector<std::string> take_definitions();

  const std::set<std::string>& helpers() const { return helpers_; }
  const std::set<std::size_t>& params_used() const { return params_used_; }
  bool uses_multiprocessors() const { return multiprocessors_; }

 private:
  std::string print(const ir::Expr* e);
  std::string leaf(const ir::Expr* e);
  std::string binary(const ir::Expr* e);
  std::string division(const ir::Expr* e, const std::string& a);
  std::string shift(const ir::Expr* e, const std::string& a);
  std::string wrapped(DType type, const std::string& value);
  std::string call(const std::string& helper, std::initializer_list<std::string> arguments);

  std::vector<Param> params_;
  std::map<const ir::Expr*, int> uses_;
  std::map<const ir::Expr*, bool> fails_;
  std::map<const ir::Expr*, std::string> named_;
  std::vector<std::string> definitions_;
  std::set<std::string> helpers_;
  std::set<std::size_t> params_used_;
  bool multiprocessors_ = false;
  int next_ = 0;
};

// The C functions of these names, in an order in which they compile.
std::string helper_text(const std::set<std::string>& helpers);
// All names that helper functions and definitions have.
bool is_helper_name(const std::string& name);
std::string integer_literal(std::int64_t value);

}  // namespace tessera::exporter
