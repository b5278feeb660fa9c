// The key of a passphrase consists of its bytes, and not of the text that people read.

import CipherSQLite
import TestSupport
import Testing

@Suite(.tags(.slow)) struct PassphraseForms {
  @Test func `one passphrase in two Unicode forms is two keys`() throws {
    let folder = try TemporaryFolder()
    let (composed, decomposed) = ("caf\u{E9}", "cafe\u{301}")
    #expect(composed == decomposed)
    for (text, other) in [(composed, decomposed), (decomposed, composed)] {
      let path = folder.path(text.unicodeScalars.count == 4 ? "c.db" : "d.db")
      _ = try Connection.create(path, key: .passphrase(text)) { try $0.executeScript("CREATE TABLE t(a)") }
      try Connection.open(path, key: .passphrase(text)).close()
      #expect {
        try Connection.open(path, key: .passphrase(other))
      } throws: { error in
        if case SQLError.wrongKey = error { true } else { false }
      }
    }
  }
}
