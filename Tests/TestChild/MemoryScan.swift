// A process that uses keys in every way, releases all of them, and then searches for them in its own memory.

import CipherSQLite
import Foundation
import TestSupport

/// A secret that the program contains only masked, so that a search does not find the program itself.
struct Masked {
  static let mask: UInt8 = 0xAA
  let name: String
  let bytes: [UInt8]

  /// Lends the secret, and wipes the copy afterwards.
  func reveal<Result>(_ body: ([UInt8]) throws -> Result) rethrows -> Result {
    var clear = [UInt8](unsafeUninitializedCapacity: bytes.count) { buffer, count in
      for (index, byte) in bytes.enumerated() { buffer.initializeElement(at: index, to: byte ^ Self.mask) }
      count = bytes.count
    }
    defer { clear.withUnsafeMutableBytes { for index in $0.indices { $0[index] = 0 } } }
    return try body(clear)
  }
}

enum Secrets {
  /// "correct horse battery staple!"
  static let passphrase = Masked(
    name: "passphrase",
    bytes: [
      201, 197, 216, 216, 207, 201, 222, 138, 194, 197, 216, 217, 207, 138, 200, 203, 222, 222, 207, 216, 211,
      138, 217, 222, 203, 218, 198, 207, 139,
    ])
  /// PBKDF2 of the passphrase with SHA-1, salt 100…115, 1000 rounds; computed with Python's hashlib.
  static let derivedSHA1 = Masked(
    name: "derived key",
    bytes: [
      19, 205, 207, 55, 61, 167, 182, 63, 73, 126, 6, 126, 176, 26, 185, 114, 147, 237, 146, 88, 207, 131, 46,
      209, 197, 16, 128, 164, 111, 242, 163, 244,
    ])
  /// PBKDF2 of the passphrase with SHA-512, otherwise as above.
  static let derivedSHA512 = Masked(
    name: "derived key",
    bytes: [
      94, 170, 139, 73, 84, 129, 35, 170, 177, 66, 188, 47, 204, 25, 33, 167, 176, 62, 39, 204, 201, 218, 5,
      248, 197, 208, 91, 11, 17, 88, 34, 205,
    ])
  /// "another passphrase, of a slot"
  static let slot = Masked(
    name: "slot passphrase",
    bytes: [
      203, 196, 197, 222, 194, 207, 216, 138, 218, 203, 217, 217, 218, 194, 216, 203, 217, 207, 134, 138, 197,
      204, 138, 203, 138, 217, 198, 197, 222,
    ])
  /// 32 random bytes.
  static let raw = Masked(
    name: "raw key",
    bytes: [
      61, 0, 198, 110, 21, 171, 225, 129, 209, 198, 110, 135, 244, 193, 150, 7, 181,
      141, 16, 51, 138, 140, 190, 240, 0, 168, 103, 18, 250, 157, 26, 124,
    ])
  static let all = [passphrase, derivedSHA1, derivedSHA512, slot, raw]
  /// 32 random bytes without protection, which a search must find.
  static let control = Masked(
    name: "control",
    bytes: [
      7, 91, 164, 22, 240, 133, 58, 201, 19, 77, 178, 36, 229, 110, 4, 150,
      63, 188, 245, 82, 11, 139, 214, 97, 170, 45, 8, 232, 121, 54, 199, 16,
    ])
}

/// Creates, opens, pools, rekeys, copies and attaches databases; creates a key file and opens its slots.
func useKeys(_ path: String) throws {
  var profile = CipherProfile.engineDefault
  profile.rounds = 1000
  var configuration = ConnectionPool.Configuration()
  configuration.connection.profile = profile
  let first = Secrets.passphrase.reveal { Key.passphrase(bytes: $0) }.withSalt([UInt8](100..<116))
  let second = Secrets.raw.reveal { Key.raw($0) }
  _ = try Connection.create(path, key: first, configuration: configuration.connection) {
    try $0.execute("CREATE TABLE t(x)")
  }
  let pool = try ConnectionPool(path: path, key: first, configuration: configuration)
  try pool.withWriter { connection in
    _ = try connection.execute("INSERT INTO t VALUES (1)")
    try connection.copy(to: path + ".copy", key: first, profile: profile)
    try connection.attach(path + ".copy", as: "other", key: first, profile: profile)
    _ = try connection.value("SELECT count(*) FROM other.t")
    try connection.detach("other")
  }
  _ = try pool.withReader { try $0.value("SELECT count(*) FROM t") }
  try pool.rekey(to: second)
  try pool.rekey(to: first)
  pool.close()
  let slots = path + ".keys"
  let work = ScryptWork(logN: 10)
  let unlock = Secrets.slot.reveal { KeyFile.Unlock.passphrase(bytes: $0) }
  let token = Secrets.raw.reveal { KeyFile.Unlock.rawKey($0) }
  let keys = try KeyFile.create(at: slots, slot: "Ann", unlock: unlock, work: work)
  try keys.addSlot("token", unlock: token)
  for secret in [unlock, token] {
    _ = try Connection.open(path + ".2", key: .keyFile(slots, unlock: secret), or: keys)
  }
}

extension Connection {
  fileprivate static func open(_ path: String, key: Key, or keys: KeyFile) throws -> Int64? {
    if !FileManager.default.fileExists(atPath: path) {
      _ = try create(path, key: keys.key) { try $0.execute("CREATE TABLE t(x)") }
    }
    return try open(path, key: key).value("SELECT count(*) FROM t")?.int64
  }
}

/// Searches all writable memory for every 16 consecutive bytes of each secret.
/// - Returns: A line for each place where some were found.
func foundInMemory(_ secrets: [Masked]) throws -> [String] {
  let window = try SearchWindow("/proc/self/mem")
  var found: [String] = []
  for line in try linesOfKernelFile("/proc/self/maps") {
    let fields = line.split(separator: " ", omittingEmptySubsequences: true)
    let bounds = fields[0].split(separator: "-").compactMap { UInt($0, radix: 16) }
    guard bounds.count == 2, fields[1].hasPrefix("rw") else { continue }
    found += window.find(secrets, from: bounds[0], to: bounds[1]) { !window.isOwn($0) }.map {
      "\($0) in \(line)"
    }
  }
  return found
}

/// Searches a file, such as the dump of a process, in the same way.
func foundInFile(_ secrets: [Masked], _ path: String) throws -> [String] {
  let size = try FileHandle(forReadingFrom: URL(fileURLWithPath: path)).seekToEnd()
  return try SearchWindow(path).find(secrets, from: 0, to: UInt(size)) { _ in true }
}

/// A search in a file, one part at a time.
private final class SearchWindow {
  // memmem, which the C library has and Swift's module of it does not.
  private typealias Search =
    @convention(c) (
      UnsafeRawPointer, Int, UnsafeRawPointer, Int
    ) -> UnsafeRawPointer?
  private let search: Search
  private let file: Int32
  private let chunk = 1 << 20
  // The bytes of the search are in clear only here, and this place is not searched.
  private let base: UnsafeMutableRawPointer
  private var needle: UnsafeMutableRawPointer { base + chunk + 32 }

  init(_ path: String) throws {
    file = open(path, O_RDONLY)
    guard file >= 0, let symbol = dlsym(dlopen(nil, RTLD_NOW), "memmem") else {
      throw CocoaError(.fileReadUnknown)
    }
    search = unsafeBitCast(symbol, to: Search.self)
    base = .allocate(byteCount: chunk + 64, alignment: 16)
  }

  deinit {
    base.deallocate()
    close(file)
  }

  /// Whether an address of this process is in the window.
  func isOwn(_ place: UInt) -> Bool {
    (UInt(bitPattern: base)..<UInt(bitPattern: base) + UInt(chunk) + 64).contains(place)
  }

  func find(_ secrets: [Masked], from: UInt, to end: UInt, where counts: (UInt) -> Bool) -> [String] {
    var found: [String] = []
    for offset in stride(from: from, to: end, by: chunk) {
      let got = pread(file, base, min(chunk + 16, Int(end - offset)), off_t(offset))
      guard got >= 16 else { break }
      for secret in secrets {
        for start in 0...(secret.bytes.count - 16) {
          for index in 0..<16 {
            needle.storeBytes(
              of: secret.bytes[start + index] ^ Masked.mask, toByteOffset: index, as: UInt8.self)
          }
          guard let hit = search(base, got, needle, 16) else { continue }
          if counts(offset + UInt(hit - UnsafeRawPointer(base))) {
            found.append("\(secret.name) from byte \(start)")
          }
        }
      }
    }
    return found
  }
}

/// All lines of a file that the kernel generates while it is read: such a file has no size in advance.
private func linesOfKernelFile(_ path: String) throws -> [Substring] {
  let bytes = try FileHandle(forReadingAtPath: path)?.readToEnd() ?? Data()
  return String(decoding: bytes, as: UTF8.self).split(separator: "\n")
}

/// The flags of the mapping that contains an address, from `/proc/self/smaps`.
func mappingFlags(_ address: UInt) throws -> String {
  var isInside = false
  for line in try linesOfKernelFile("/proc/self/smaps") {
    let bounds = line.prefix { $0 != " " }.split(separator: "-").compactMap { UInt($0, radix: 16) }
    if bounds.count == 2 { isInside = (bounds[0]..<bounds[1]).contains(address) }
    if isInside, line.hasPrefix("VmFlags:") { return String(line.dropFirst(8)) }
  }
  return ""
}
