// Why the system refused something, in its own words.

import Foundation

/// The words for a number of `errno`.
// The system's text is there until the next call on this thread, and is copied before it.
func systemText(_ code: Int32) -> String { unsafe String(cString: strerror(code)) }
