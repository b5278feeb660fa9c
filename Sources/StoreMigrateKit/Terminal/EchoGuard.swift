// The terminal's echo: off while a key is typed, on again whatever happens.

import CipherSQLite
import Foundation

enum EchoGuard {
  private static let former = Locked<termios?>(nil)

  /// Keeps what is typed from being shown.
  static func switchOff() {
    former.withLock { former in
      var settings = termios()
      guard unsafe tcgetattr(0, &settings) == 0 else { return }
      former = settings
      settings.c_lflag &= ~tcflag_t(ECHO)
      unsafe tcsetattr(0, TCSANOW, &settings)
    }
  }

  /// Puts the terminal back as it was.
  /// - Returns: Whether echo was off, which is to say that a key was being asked for.
  @discardableResult
  static func restore() -> Bool {
    former.withLock { former in
      guard var settings = former else { return false }
      unsafe tcsetattr(0, TCSANOW, &settings)
      former = nil
      return true
    }
  }
}
