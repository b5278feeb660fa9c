// Keys and arguments from other sources than a plain file and plain text.

import CipherSQLite
import Foundation
import TestSupport
import Testing

@Suite(.tags(.slow)) struct KeyInput {
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

  /// Runs a shell line in which `$tool` and `$store` are the tool and the store.
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
  func `a key is read from a pipe as well as from a file`(_ line: String) throws {
    let result = try shell(line)
    #expect(result.status == 0 && result.output.contains("tables"), "\(result)")
  }

  @Test func `a key that is not UTF-8 is the same from a variable and from a file`() throws {
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

  /// Typed bytes in hexadecimal digits, and the key that they are.
  static let typed: [(String, [UInt8])] = [
    ("636166e90a", Array("caf".utf8) + [0xE9]), ("686f7273650d0a", Array("horse".utf8)),
    // A carriage return without a line feed, as in a file of these bytes, and the end of the input.
    ("686f7273650d040404", Array("horse\r".utf8)),
  ]

  @Test(.enabled(if: python != nil, "needs python3, for a terminal"), arguments: typed)
  func `input at the prompt is taken byte by byte`(_ typed: String, _ key: [UInt8]) throws {
    let other = folder.path("b.store")
    _ = try Connection.create(other, key: .passphrase(bytes: key)) {
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
      settings = termios.tcgetattr(terminal)
      settings[0] &= ~termios.ICRNL
      termios.tcsetattr(terminal, termios.TCSANOW, settings)
      os.write(terminal, bytes.fromhex(sys.argv[3]))
      try:
          while os.read(terminal, 1024): pass
      except OSError: pass
      print(os.WEXITSTATUS(os.waitpid(child, 0)[1]))
      """
    let result = try runTool(
      Self.python ?? "", ["-c", script, builtExecutable("store-migrate"), other, typed])
    #expect(result.output == "0\n", "\(result)")
  }

  @Test(.enabled(if: python != nil, "needs python3, for a terminal"))
  func `a terminal that cannot be read is reported as such, and not as empty input`() throws {
    // A background process that ignores SIGTTIN gets a system error when it reads.
    let script = """
      import os, pty, signal, sys
      os.environ.pop("STORE_MIGRATE_KEY", None)
      child, terminal = pty.fork()
      if child == 0:
          for number in [signal.SIGTTIN, signal.SIGTTOU]: signal.signal(number, signal.SIG_IGN)
          tool = os.fork()
          if tool == 0:
              os.setpgid(0, 0)
              os.execv(sys.argv[1], [sys.argv[1], "info", sys.argv[2]])
          os._exit(os.WEXITSTATUS(os.waitpid(tool, 0)[1]))
      text = b""
      try:
          while part := os.read(terminal, 1024): text += part
      except OSError: pass
      print(text.decode(), os.WEXITSTATUS(os.waitpid(child, 0)[1]))
      """
    let result = try runTool(Self.python ?? "", ["-c", script, builtExecutable("store-migrate"), store])
    #expect(result.output.contains("The terminal cannot be read: Input/output error."), "\(result)")
    #expect(result.output.hasSuffix(" 64\n"), "\(result)")
  }

  @Test func `an argument that is not UTF-8 is refused, and no other file is touched`() throws {
    let result = try shell("STORE_MIGRATE_KEY=horse $tool backup $store $'copy\\xff' --no-input")
    #expect(result.status == 64 && result.errors.contains("not valid UTF-8"), "\(result)")
    #expect(folder.names == ["a.store"])
  }

  @Test(.enabled(if: python != nil, "needs python3, for a terminal"), arguments: [2, 15, 1])
  func `a terminal echoes input again after a signal at the prompt`(_ signal: Int32) throws {
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
