// Quoted words of printed commands, as a shell reads them.

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
  func `a shell reads a quoted word unchanged, and the word has no control characters`(_ word: String) throws
  {
    let printed = shellWord(word)
    let result = try runTool("/bin/bash", ["-c", "printf %s \(printed)"], environment: ["LC_ALL": "C"])
    #expect(result.output == word && result.status == 0, "\(printed): \(result)")
    let hidden = printed.unicodeScalars.filter { $0.isHidden }
    #expect(hidden.isEmpty, "\(printed)")
  }

  @Test func `a path that begins with a dash is prefixed, and other paths stay unchanged`() {
    #expect(shellPath("-x.store") == "./-x.store" && shellPath("a/-x") == "a/-x")
    #expect(shellPath("-\u{1B}") == "$'./-\\033'")
  }
}
