// Words of printed command lines, read back by the shell that they are pasted into.

import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite(.tags(.pure)) struct ShellWords {
  @Test(arguments: [
    "notes.store", "", "my notes", "it's", "it'\u{301}s", "$HOME `id` \"x\" !1 \\", "陳 大文", "e\u{1B}[31mz",
    "\u{1B}'7\\n",
    "tab\tand\nline", "\u{7}7", "a\u{85}1", "\u{202E}back", "\u{2028}",
  ])
  func `a word is read by a shell as it is, and holds no sign that a terminal obeys`(_ word: String) throws {
    let printed = shellWord(word)
    let result = try runTool("/bin/bash", ["-c", "printf %s \(printed)"], environment: ["LC_ALL": "C"])
    #expect(result.output == word && result.status == 0, "\(printed): \(result)")
    let hidden = printed.unicodeScalars.filter { $0.isHidden }
    #expect(hidden.isEmpty, "\(printed)")
  }

  @Test func `a path is no option, and a plain one stays as it is`() {
    #expect(shellPath("-x.store") == "./-x.store" && shellPath("a/-x") == "a/-x")
    #expect(shellPath("-\u{1B}") == "$'./-\\033'")
  }
}
