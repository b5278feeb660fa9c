// The system's description of an error.

import Foundation

/// Returns the system's text for a value of `errno`.
// The text is valid until the next call on this thread; it is copied before that.
func systemText(_ code: Int32) -> String { unsafe String(cString: strerror(code)) }
