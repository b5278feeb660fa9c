// Reads a key from a file, a descriptor, a variable, a command, or a prompt. It is never an argument.

import CipherSQLite
import Foundation
import ObjectVault

/// Reads a key from the source that the options name.
struct KeySource {
  let arguments: Arguments
  /// The common part of the options' names: `key` or `new-key`.
  let prefix: String
  let standardError: @Sendable (String) -> Void
  /// Prints a warning about what is not an error but should be corrected.
  let warn: @Sendable (String) -> Void
  /// Whether the key is for a new file. Then the user types it twice, because a typing mistake would go
  /// unnoticed.
  var isOfNewFile = false

  /// Reads the key. A source that is a pipe can be read only once.
  /// - Throws: ``UsageError`` when there is no source and no prompt is possible, or when the source
  ///   cannot be read or has another format; ``RefusedError`` when the key file does not exist;
  ///   ``SQLError``.
  func read(for file: String) throws -> Key {
    let settings = prefix == "key" ? "--cipher" : "--new-cipher"
    let salt = try CipherSettings.given(settings, in: arguments)?.salt
    let key = try readWithoutSalt(for: file)
    return salt.map { key.withSalt($0) } ?? key
  }

  private func readWithoutSalt(for file: String) throws -> Key {
    if let keyFile = arguments.value(prefix == "key" ? "--slots" : "--new-slots") {
      return .keyFile(keyFile, unlock: try unlock(for: keyFile))
    }
    var bytes = try bytes(for: file)
    defer { for index in bytes.indices { bytes[index] = 0 } }
    guard !bytes.isEmpty else {
      throw RefusedError(
        code: .cannotDecrypt,
        description: "\(Self.name(prefix)) is empty. Give at least one byte. Nothing was changed.")
    }
    let format = arguments.value("--\(prefix)-format") ?? "passphrase"
    switch format {
    case "passphrase": return .passphrase(bytes: bytes)
    case "hex":
      guard let raw = decodedHex(bytes) else {
        throw UsageError("\(Self.name(prefix)) is not valid hexadecimal (--\(prefix)-format hex).")
      }
      return .raw(raw)
    case "base64":
      guard let raw = Data(base64Encoded: Data(bytes)) else {
        throw UsageError("\(Self.name(prefix)) is not valid base64 (--\(prefix)-format base64).")
      }
      return .raw(raw)
    default: throw UsageError("--\(prefix)-format takes passphrase, hex or base64, not \(format).")
    }
  }

  /// What the key of an option prefix is, at the beginning of a sentence.
  private static func name(_ prefix: String) -> String { prefix == "new-key" ? "The new key" : "The key" }

  /// Reads the secret of a slot of a key file.
  func unlock(for file: String) throws -> KeyFile.Unlock {
    var bytes = try bytes(for: file)
    defer { for index in bytes.indices { bytes[index] = 0 } }
    let unlock = try Self.unlock(
      bytes, format: arguments.value("--\(prefix)-format") ?? "passphrase", prefix)
    return try Self.budget(arguments).map { unlock.allowing($0) } ?? unlock
  }

  /// Returns what `--slots-work` allows the derivation of a key to cost; nil without it.
  static func budget(_ arguments: Arguments) throws -> ScryptBudget? {
    guard arguments.value("--slots-work") != nil else { return nil }
    // A limit below 0.1 s opens no slot that the default limit does not, so it is a typing mistake.
    let seconds = try arguments.seconds("--slots-work", default: 0, from: 0.1)
    return ScryptBudget(seconds: seconds, memoryBytes: ScryptBudget.unlimited.memoryBytes)
  }

  static func unlock(_ bytes: [UInt8], format: String, _ prefix: String) throws -> KeyFile.Unlock {
    switch format {
    case "passphrase":
      // Text is composed (NFC), as the library does with a String. Bytes that are not text stay as they
      // are.
      String(validating: bytes, as: UTF8.self).map { .passphrase($0) } ?? .passphrase(bytes: bytes)
    case "recovery": .recoveryCode(try RecoveryCode(typed: String(decoding: bytes, as: UTF8.self)))
    case "hex":
      if let raw = decodedHex(bytes) {
        .rawKey(raw)
      } else {
        throw UsageError("\(name(prefix)) is not valid hexadecimal (--\(prefix)-format hex).")
      }
    case "base64":
      if let raw = Data(base64Encoded: Data(bytes)) {
        .rawKey(Array(raw))
      } else {
        throw UsageError("\(name(prefix)) is not valid base64 (--\(prefix)-format base64).")
      }
    default:
      throw UsageError(
        "--\(prefix)-format takes passphrase, hex, base64 or recovery for a slot, not \(format).")
    }
  }

  private func bytes(for file: String) throws -> [UInt8] {
    let ways = ["file", "fd", "env", "command"].filter { arguments.value("--\(prefix)-\($0)") != nil }
    guard ways.count <= 1 else {
      throw UsageError("Give only one of --\(prefix)-\(ways.joined(separator: ", --\(prefix)-")).")
    }
    if let path = arguments.value("--\(prefix)-file") { return Self.trimmed(try fromFile(path)) }
    if let text = arguments.value("--\(prefix)-fd") {
      guard let descriptor = Int32(text), descriptor >= 0 else {
        throw UsageError("--\(prefix)-fd takes the number of an open file descriptor, not \(text).")
      }
      return Self.trimmed(try fromDescriptor(descriptor))
    }
    if let name = arguments.value("--\(prefix)-env") {
      guard let value = Self.variable(name) else {
        throw UsageError("The environment variable \(name) is not set.")
      }
      return value
    }
    if let command = arguments.value("--\(prefix)-command") { return Self.trimmed(try fromCommand(command)) }
    if prefix == "key", let value = Self.variable("STORE_MIGRATE_KEY") { return value }
    guard !arguments.has("--no-input"), isatty(0) == 1 else {
      throw UsageError(
        "The \(prefix == "key" ? "" : "new ")key is missing: give --\(prefix)-file, --\(prefix)-fd, "
          + "--\(prefix)-env or --\(prefix)-command"
          + (prefix == "key" ? ", or set STORE_MIGRATE_KEY." : "."))
    }
    return try prompted(for: file)
  }

  /// Returns the bytes of an environment variable; those of a key need not be UTF-8. Nothing changes the
  /// environment while the tool runs, so the pointer stays valid until the bytes are copied.
  private static func variable(_ name: String) -> [UInt8]? {
    unsafe getenv(name).map { unsafe Array(Data(bytes: $0, count: strlen($0))) }
  }

  private func fromFile(_ path: String) throws -> [UInt8] {
    if path == "-" { return try fromDescriptor(0) }
    // Opened once and read in sequence, because it may be a pipe: one of the shell (`<(…)`), or a named
    // one.
    let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else {
      let code = errno
      let text = "The key file \(path) cannot be read: \(systemText(code))."
      throw code == ENOENT ? RefusedError(code: .notFound, description: text) : UsageError(text)
    }
    defer { close(descriptor) }
    var status = stat()
    if unsafe fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_mode & 0o077 != 0
    {
      warn("other users may be able to read the key file \(path); run: chmod 600 \(shellPath(path))")
    }
    return try fromDescriptor(descriptor, called: "key file \(path)")
  }

  private func fromDescriptor(_ descriptor: Int32, called name: String? = nil) throws -> [UInt8] {
    let name = name ?? "descriptor \(descriptor)"
    var bytes: [UInt8] = []
    var room = [UInt8](repeating: 0, count: 4096)
    while true {
      let count = unsafe Foundation.read(descriptor, &room, room.count)
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else {
        throw UsageError("The \(name) cannot be read: \(systemText(errno)).")
      }
      guard count > 0 else { return bytes }
      bytes += room.prefix(count)
      // A key is short. An endless source, such as a device, is rejected.
      guard bytes.count <= 1 << 20 else {
        throw UsageError("The \(name) has more than 1 MB, which is too long for a key.")
      }
    }
  }

  private func fromCommand(_ command: String) throws -> [UInt8] {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/bin/sh")
    process.arguments = ["-c", command]
    let pipe = Pipe()
    process.standardOutput = pipe
    try process.run()
    var data = Data()
    // No key is that long; the limit bounds the memory.
    let most = 65_536
    while data.count <= most, let part = try pipe.fileHandleForReading.read(upToCount: 4096), !part.isEmpty {
      data += part
    }
    guard data.count <= most else {
      process.terminate()
      throw UsageError(
        "The command of --\(prefix)-command printed more than \(most) bytes, too long for a key.")
    }
    process.waitUntilExit()
    guard process.terminationStatus == 0 else {
      throw UsageError(
        "The command of --\(prefix)-command failed with exit code \(process.terminationStatus).")
    }
    return Array(data)
  }

  private func prompted(for file: String) throws -> [UInt8] {
    let label = prefix == "key" ? "Key of \(file): " : "New key of \(file): "
    let first = try Self.readWithoutEcho(label)
    guard prefix == "new-key" || isOfNewFile else { return first }
    guard try Self.readWithoutEcho("The \(isOfNewFile ? "" : "new ")key again: ") == first else {
      throw UsageError("The two keys differ. Nothing was changed.")
    }
    return first
  }

  private static func readWithoutEcho(_ label: String) throws -> [UInt8] {
    StandardStream.error.write(label)
    EchoGuard.switchOff()
    defer {
      EchoGuard.restore()
      StandardStream.error.write("\n")
    }
    return try typedLine()
  }

  /// Reads the bytes that are typed up to the end of the line, one at a time, because a terminal may use
  /// another encoding than UTF-8. The line end is removed as in a file, so that the same bytes are the
  /// same key.
  private static func typedLine() throws -> [UInt8] {
    var line: [UInt8] = []
    var byte: [UInt8] = [0]
    while true {
      let count = unsafe Foundation.read(0, &byte, 1)
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else { throw UsageError("The terminal cannot be read: \(systemText(errno)).") }
      guard count > 0 || !line.isEmpty else { throw UsageError("No key was typed.") }
      if count > 0 { line.append(byte[0]) }
      if count == 0 || byte[0] == UInt8(ascii: "\n") { return trimmed(line) }
    }
  }

  /// Returns the bytes without one line end, `\n` or `\r\n`, which editors and `echo` add.
  static func trimmed(_ bytes: [UInt8]) -> [UInt8] {
    var bytes = bytes
    guard bytes.last == UInt8(ascii: "\n") else { return bytes }
    bytes.removeLast()
    if bytes.last == UInt8(ascii: "\r") { bytes.removeLast() }
    return bytes
  }
}
