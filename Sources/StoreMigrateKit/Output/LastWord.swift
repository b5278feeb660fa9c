// What is said beside the report of a run that came to its end.

/// The last word of a run on standard error.
package struct LastWord {
  /// What went wrong behind the work that the report tells; in JSON the report says it.
  package let failure: String?
  package let isJSON: Bool
  /// Whether a signal came that stopped nothing.
  package let wasStopped: Bool

  package init(failure: String?, isJSON: Bool, wasStopped: Bool) {
    (self.failure, self.isJSON, self.wasStopped) = (failure, isJSON, wasStopped)
  }

  /// nil where there is nothing to say.
  package var text: String? {
    // Not all was done then: what failed is the more important word of both.
    if let failure { return isJSON ? nil : "store-migrate: \(failure)" }
    return wasStopped ? "store-migrate: It was done before it could be stopped." : nil
  }
}
