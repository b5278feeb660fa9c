// The terminal's echo: switched off while a key is typed, and restored however the command ends.

import CipherSQLite
import Foundation

enum EchoGuard {
  private static let former = Locked<termios?>(nil)

  /// Switches the echo off.
  static func switchOff() {
    former.withLock { former in
      var settings = termios()
      guard unsafe tcgetattr(0, &settings) == 0 else { return }
      former = settings
      settings.c_lflag &= ~tcflag_t(ECHO)
      unsafe tcsetattr(0, TCSANOW, &settings)
    }
  }

  /// Restores the settings of the terminal.
  /// - Returns: Whether the echo was off, that is, a key was being typed.
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
