// The final message of a run, in addition to its report.

/// The final message of a run on standard error.
package struct FinalMessage {
  /// What failed after the work that the report describes. In JSON, the report contains it.
  package let failure: String?
  package let isJSON: Bool
  /// Whether a signal arrived that stopped nothing.
  package let wasStopped: Bool

  package init(failure: String?, isJSON: Bool, wasStopped: Bool) {
    (self.failure, self.isJSON, self.wasStopped) = (failure, isJSON, wasStopped)
  }

  /// The message; nil when there is none.
  package var text: String? {
    // The failure takes precedence, because not all work was done.
    if let failure { return isJSON ? nil : "store-migrate: \(failure)" }
    return wasStopped ? "store-migrate: The command was complete before it could be stopped." : nil
  }
}
