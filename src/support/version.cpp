#include "tessera/version.hpp"

namespace tessera {

std::string_view version() { return TESSERA_VERSION; }

}  // namespace tessera
