// How long something was waited for.

private import Foundation

struct Deadline {
  private let start = DispatchTime.now()
  /// How long to wait, in seconds.
  let seconds: Double

  /// Begins to count.
  init(_ seconds: Double) { self.seconds = seconds }

  /// How long it has been, in seconds.
  var waited: Double { Double(DispatchTime.now().uptimeNanoseconds - start.uptimeNanoseconds) / 1e9 }
  var isOver: Bool { waited >= seconds }
}
