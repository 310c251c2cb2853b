#include "ir/stmt.hpp"

namespace tessera::ir {

const char* name_of(StmtKind kind) {
  switch (kind) {
#define TESSERA_NODE(section, Name) \
  case StmtKind::section##_##Name:  \
    return #Name;
#include "ir/nodes.def"
#undef TESSERA_NODE
  }
  return "?";
}

}  // namespace tessera::ir
