// The steps that a tool was built with: read when it begins, and told to be unreadable when a command needs them. One that
// writes Embedded.swift anew has to run all the same.

import ObjectVault

/// Steps inside a tool; none in the one that is nobody's own.
struct BundledSteps: Sendable {
  /// Nil where there are none, and where they cannot be read.
  let set: MigrationSet?
  /// Why they cannot be read.
  private let fault: String?

  init(_ set: MigrationSet?) { (self.set, fault) = (set, nil) }

  init(embedded steps: [MigrationSet.Embedded]) {
    do {
      (set, fault) = (try .embedded(steps), nil)
    } catch { (set, fault) = (nil, ErrorText.of(error)) }
  }

  private init(set: MigrationSet?, fault: String?) { (self.set, self.fault) = (set, fault) }

  func transforming(by transforms: [MigrationTransform]) -> BundledSteps {
    BundledSteps(set: set?.transforming(by: transforms), fault: fault)
  }

  /// Whether the tool has steps, readable or not.
  var areThere: Bool { fault != nil || self.set != nil }

  /// The steps; nil without any.
  /// - Throws: ``RefusedError`` where they cannot be read.
  func required() throws -> MigrationSet? {
    guard let fault else { return set }
    throw RefusedError(
      code: .failed,
      description:
        "The steps that this tool was built with cannot be read. \(fault)\n"
        + "Run \(ToolLine("embed")) where they lie, and build the tool anew; or name their folder with --migrations."
    )
  }
}
