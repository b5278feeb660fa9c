// How messages call the tool on the command line.

/// The tool that messages name for what they advise: `store-migrate`, or what an app calls its own. One for the process, whose
/// name it is: whoever makes a message, far below, knows nothing of who runs it.
package enum ToolName {
  private static let name = Locked("store-migrate")

  /// As a shell takes it. Set once, as the tool begins.
  package static var current: String {
    get { name.withLock { $0 } }
    set { name.withLock { $0 = newValue } }
  }
}
