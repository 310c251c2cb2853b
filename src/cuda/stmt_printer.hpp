// The body of a kernel: one line a statement.
#pragma once

#include <string>

#include "cuda/expr_printer.hpp"
#include "ir/thread.hpp"

namespace tessera::cuda {

class StmtPrinter {
 public:
  StmtPrinter(ExprPrinter& exprs, Names& names, Prelude& prelude, std::vector<std::string> maps, bool readable)
      : exprs_(exprs), names_(names), prelude_(prelude), maps_(std::move(maps)), readable_(readable) {}

  void block(const ir::Block& body);
  const std::string& text() const { return out_; }

 private:
  void statement(const ir::Stmt* s);
  // A line of code with the user's line behind it where that has changed, then `note` (readable text only).
  void line(const ir::Stmt* s, const std::string& code, const std::string& note = {});
  // As `line`, for a call of one of the prelude's helpers.
  void call(const ir::Stmt* s, const char* helper, const std::vector<std::string>& arguments,
            const std::string& note = {});
  void raw(const std::string& code);  // a line that belongs to no statement
  // An instruction without operands.
  void instruction(const ir::Stmt* s, const std::string& ptx);

  void print(const ir::control::For& s);
  void print(const ir::control::Loop& s);
  void print(const ir::control::If& s);
  void branch(const ir::control::If& s, const std::string& head);
  void print(const ir::thread::DeclareRegs& s);
  void print(const ir::thread::WriteRegs& s);
  void print(const ir::thread::LdMatrix& s);
  void print(const ir::thread::StMatrix& s);
  void print(const ir::thread::MmaSync& s);
  void print(const ir::thread::Wgmma& s);
  void print(const ir::thread::WgmmaWait& s);
  void print(const ir::thread::MbarrierArrive& s);
  void print(const ir::thread::TmaLoadBox& s);
  void print(const ir::thread::TmaStoreBox& s);
  void print(const ir::thread::TmaPrefetchBox& s);
  void print(const ir::thread::PrintThread& s);

  std::string coordinates(const std::vector<const ir::Expr*>& coords);

  // A vector access: `pointer` is what the helper dereferences, `mask` may be null.
  void load(const ir::Stmt* s, const char* space, const ir::thread::RegRef& dst, int count, const std::string& pointer,
            const ir::Expr* mask);
  void store(const ir::Stmt* s, const char* space, const ir::thread::RegRef& src, int count, const std::string& pointer,
             const ir::Expr* mask);
  std::string global_pointer(std::uint32_t param, const ir::Expr* offset);
  std::string shared_address(const ir::Expr* address, const ir::Expr* cta);  // cta null: in this one
  // "&r[3]": the register that holds the first element of `ref`, which must begin there (internal Error otherwise).
  std::string register_pointer(const ir::Stmt* s, const ir::thread::RegRef& ref);
  bool begins_word(const ir::thread::RegRef& ref) const;
  // Statement that sets one element from the text of its value.
  std::string set_element(const ir::thread::RegRef& ref, int i, const std::string& value);
  std::string temporary_element(DType type, bool one_word, int i);
  std::string element_bits(const ir::thread::RegRef& ref, int i);
  const ir::Expr* at(const ir::thread::RegRef& ref, int i);
  // Text of the elements that fill one register.
  std::string packed(DType type, const ir::Expr* const* values);

  ExprPrinter& exprs_;
  Names& names_;
  Prelude& prelude_;
  std::vector<std::string> maps_;
  bool readable_;
  std::string out_;
  int depth_ = 1;
  const char* last_file_ = nullptr;
  std::uint32_t last_line_ = 0;
};

}  // namespace tessera::cuda
