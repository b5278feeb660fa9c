// A deadline, and how much time has passed since the wait began.

private import Foundation

struct Deadline {
  private let start = DispatchTime.now()
  /// How long to wait, in seconds.
  let seconds: Double

  /// Starts the clock.
  init(_ seconds: Double) { self.seconds = seconds }

  /// The seconds since the clock was started.
  var waited: Double { Double(DispatchTime.now().uptimeNanoseconds - start.uptimeNanoseconds) / 1e9 }
  var isOver: Bool { waited >= seconds }
}
