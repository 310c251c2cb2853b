// Messages that are made only when they are needed. Verifiers look at every expression, and nearly everything holds:
// the texts would cost more than the checks.
#pragma once

#include <string>
#include <type_traits>

namespace tessera::ir {

// `message` is a text, or makes one when it is called.
template <class Message>
std::string text_of(const Message& message) {
  if constexpr (std::is_invocable_v<Message>) {
    return message();
  } else {
    return message;
  }
}

}  // namespace tessera::ir
