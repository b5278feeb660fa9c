// The command-line arguments of this process.

private import CVaultShims

/// The command-line arguments of this process, as its `main` receives them.
///
/// `CommandLine` reads them from `/proc` and terminates the process if `/proc` is not mounted. Apart from
/// the demo, nothing else in `Sources` uses `CommandLine`; a test checks this.
package enum ProgramArguments {
  /// One argument.
  package enum Word: Sendable, Equatable {
    case text(String)
    /// An argument that is not valid UTF-8, with replacement characters for the invalid bytes. For
    /// messages only: as a path it would name a different file.
    case other(repaired: String)

    /// The argument as text, for messages.
    package var shown: String {
      switch self {
      case .text(let text), .other(repaired: let text): text
      }
    }
  }

  /// All arguments, beginning with the program's name. If the C library does not provide them,
  /// they come from `CommandLine`.
  package static let all: [Word] = {
    let count = vault_argument_count()
    guard count > 0 else { return CommandLine.arguments.map { .text($0) } }
    return (0..<count).compactMap { index in
      guard let word = unsafe vault_argument(index) else { return nil }
      if let text = unsafe String(validatingCString: word) { return .text(text) }
      return unsafe .other(repaired: String(cString: word))
    }
  }()

  /// The name under which the program was started, such as `notes` or `/usr/bin/notes`; nil if unknown.
  package static var program: String? { all.first?.shown }
}
