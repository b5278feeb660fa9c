// The width of the terminal that a stream writes to.

import Foundation

extension StandardStream {
  /// The cells of a line; nil when the stream is not a terminal, or when the terminal does not report
  /// them.
  var lineWidth: Int? {
    var size = winsize()
    guard isatty(rawValue) == 1, unsafe ioctl(rawValue, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else {
      return nil
    }
    return Int(size.ws_col)
  }
}
