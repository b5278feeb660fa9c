// Ways in which a key, or a word of the line, may come that are not a plain file and plain text.

import CipherSQLite
import Foundation
import TestSupport
import Testing

@Suite struct KeyInput {
  let folder: TemporaryFolder
  let store: String
  static let python = ["/usr/bin/python3", "/usr/local/bin/python3"].first {
    FileManager.default.isExecutableFile(atPath: $0)
  }

  init() throws {
    folder = try TemporaryFolder()
    store = folder.path("a.store")
    _ = try Connection.create(store, key: .passphrase("horse")) { try $0.executeScript("CREATE TABLE t(x)") }
  }

  /// Runs a line of the shell, in which `$tool` and `$store` are what they say.
  func shell(_ line: String) throws -> ToolResult {
    try runTool(
      "/bin/bash", ["-c", line], environment: ["tool": builtExecutable("store-migrate"), "store": store],
      directory: folder.url.path)
  }

  @Test(arguments: [
    "mkfifo pipe; printf horse > pipe & $tool info $store --no-input --key-file pipe",
    "$tool info $store --no-input --key-file <(printf horse)",
    "printf horse | $tool info $store --no-input --key-file -",
    "$tool info $store --no-input --key-fd 7 7< <(printf horse)",
  ])
  func `a key comes through a pipe as well as out of a file`(_ line: String) throws {
    let result = try shell(line)
    #expect(result.status == 0 && result.output.contains("tables"), "\(result)")
  }

  @Test func `a key that is no UTF-8 is the same from a variable and from a file, and no other`() throws {
    let lines = [
      "printf 'caf\\xe9' > key; printf 'caf\\xef\\xbf\\xbd' > other; chmod 600 key other",
      "STORE_MIGRATE_KEY=horse K=$(cat key) $tool rekey $store --new-key-env K --no-input",
      "$tool info $store --key-file key --no-input",
      "STORE_MIGRATE_KEY=$(cat key) $tool info $store --no-input",
    ]
    for line in lines {
      let result = try shell(line)
      #expect(result.status == 0, "\(line): \(result)")
    }
    #expect(try shell("$tool info $store --key-file other --no-input").status == 12)
    #expect(try shell("K=$(cat other) $tool info $store --key-env K --no-input").status == 12)
  }

  @Test(.enabled(if: python != nil, "needs python3, for a terminal"))
  func `what is typed at the prompt is taken byte by byte`() throws {
    let other = folder.path("b.store")
    _ = try Connection.create(other, key: .passphrase(bytes: Array("caf".utf8) + [0xE9])) {
      try $0.executeScript("CREATE TABLE t(x)")
    }
    let script = """
      import os, pty, sys, termios, time
      os.environ.pop("STORE_MIGRATE_KEY", None)
      child, terminal = pty.fork()
      if child == 0:
          os.execv(sys.argv[1], [sys.argv[1], "info", sys.argv[2]])
      text, end = b"", time.time() + 60
      while b"Key of" not in text: text += os.read(terminal, 1024)
      while termios.tcgetattr(terminal)[3] & termios.ECHO and time.time() < end: time.sleep(0.01)
      os.write(terminal, b"caf\\xe9\\n")
      try:
          while os.read(terminal, 1024): pass
      except OSError: pass
      print(os.WEXITSTATUS(os.waitpid(child, 0)[1]))
      """
    let result = try runTool(Self.python ?? "", ["-c", script, builtExecutable("store-migrate"), other])
    #expect(result.output == "0\n", "\(result)")
  }

  @Test func `a word that is no UTF-8 is refused, and no other file is touched`() throws {
    let result = try shell("STORE_MIGRATE_KEY=horse $tool backup $store $'copy\\xff' --no-input")
    #expect(result.status == 64 && result.errors.contains("not written in UTF-8"), "\(result)")
    #expect(folder.names == ["a.store"])
  }

  @Test(.enabled(if: python != nil, "needs python3, for a terminal"), arguments: [2, 15, 1])
  func `a terminal shows again what is typed after a signal at the prompt`(_ signal: Int32) throws {
    let script = """
      import os, pty, sys, termios, time
      os.environ.pop("STORE_MIGRATE_KEY", None)
      child, terminal = pty.fork()
      if child == 0:
          os.execv(sys.argv[1], [sys.argv[1], "info", sys.argv[2]])
      text = b""
      while b"Key of" not in text: text += os.read(terminal, 1024)
      echo = lambda: bool(termios.tcgetattr(terminal)[3] & termios.ECHO)
      end = time.time() + 20
      while echo() and time.time() < end: time.sleep(0.01)
      hidden = not echo()
      os.kill(child, int(sys.argv[3]))
      while time.time() < end:
          done, status = os.waitpid(child, os.WNOHANG)
          if done: break
          time.sleep(0.01)
      print(hidden, echo(), os.WEXITSTATUS(status))
      """
    let result = try runTool(
      Self.python ?? "", ["-c", script, builtExecutable("store-migrate"), store, "\(signal)"])
    #expect(result.output == "True True \(128 + signal)\n", "\(result)")
  }
}
