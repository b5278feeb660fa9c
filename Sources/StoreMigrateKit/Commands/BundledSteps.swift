// The steps that a tool was built with. They are read at startup, but an error in them is thrown only
// when a command needs them: `embed`, which rewrites Embedded.swift, has to run in spite of the error.

import ObjectVault

/// The steps that the tool was built with; none in the plain `store-migrate`.
struct BundledSteps: Sendable {
  /// The steps; nil when there are none or they cannot be read.
  let set: MigrationSet?
  /// Why the steps cannot be read; nil when they can.
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

  /// Whether the tool was built with steps, readable or not.
  var areThere: Bool { fault != nil || self.set != nil }

  /// Returns the steps, or nil when the tool was built without any.
  /// - Throws: ``RefusedError`` when they cannot be read.
  func required() throws -> MigrationSet? {
    guard let fault else { return set }
    throw RefusedError(
      code: .failed,
      description:
        "The steps that this tool was built with cannot be read. \(fault)\n"
        + "Run \(ToolLine("embed")) in the folder above Migrations and rebuild the tool, "
        + "or give the folder of the steps with --migrations."
    )
  }
}
