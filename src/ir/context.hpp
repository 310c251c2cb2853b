// What the tile and the thread form of one kernel share: the arena, the expressions, ids and the signature.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "ir/expr.hpp"
#include "ir/stmt.hpp"

namespace tessera::ir {

struct Param {
  std::string name;
  DType type = DType::i32;  // of the scalar, or of the elements pointed to
  bool is_pointer = false;
  int alignment = 16;  // pointers: bytes that the caller guarantees
};

class Context {
 public:
  support::Arena arena;
  ExprPool expr{arena};

  Value* new_value(DType type, std::string name, SourceLoc loc) {
    return arena.make<Value>(Value{next_value_++, type, std::move(name), loc});
  }
  Var* new_var(DType type, std::string name, SourceLoc loc) {
    return arena.make<Var>(Var{next_var_++, type, std::move(name), loc});
  }
  RegArray* new_regs(DType type, std::uint32_t size, std::string name, SourceLoc loc) {
    return arena.make<RegArray>(RegArray{next_regs_++, type, size, std::move(name), loc});
  }
  std::uint32_t value_count() const { return next_value_; }
  std::uint32_t var_count() const { return next_var_; }
  std::uint32_t regs_count() const { return next_regs_; }

 private:
  std::uint32_t next_value_ = 0;
  std::uint32_t next_var_ = 0;
  std::uint32_t next_regs_ = 0;
};

}  // namespace tessera::ir
