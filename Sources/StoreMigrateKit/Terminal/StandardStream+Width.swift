// How wide the terminal is that a stream leads to.

import Foundation

extension StandardStream {
  /// The cells of a line; nil when the stream leads to no terminal, or to one that does not say.
  var lineWidth: Int? {
    var size = winsize()
    guard isatty(rawValue) == 1, unsafe ioctl(rawValue, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else {
      return nil
    }
    return Int(size.ws_col)
  }
}
