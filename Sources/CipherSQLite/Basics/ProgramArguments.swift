// The words that the program was started with.

private import CVaultShims

/// The command line of this process, as its `main` gets it.
///
/// `CommandLine` reads it from `/proc`, and ends the process where that is not mounted. Nothing in `Sources` uses that: a test
/// looks for its name.
package enum ProgramArguments {
  /// A word of the command line.
  package enum Word: Sendable, Equatable {
    case text(String)
    /// Bytes that are no UTF-8, with signs in the place of these: for messages, as it would name another file.
    case other(repaired: String)

    /// The word, as a message shows it.
    package var shown: String {
      switch self {
      case .text(let text), .other(repaired: let text): text
      }
    }
  }

  /// All words, the program's own name first. On a system whose C library does not hand them out, what the runtime finds.
  package static let all: [Word] = {
    let count = vault_argument_count()
    guard count > 0 else { return CommandLine.arguments.map { .text($0) } }
    return (0..<count).compactMap { index in
      guard let word = unsafe vault_argument(index) else { return nil }
      if let text = unsafe String(validatingCString: word) { return .text(text) }
      return unsafe .other(repaired: String(cString: word))
    }
  }()

  /// What the program was called, such as `notes` or `/usr/bin/notes`; nil where nothing says.
  package static var program: String? { all.first?.shown }
}
