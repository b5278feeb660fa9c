// Memory for key bytes: outside the Swift heap, locked, excluded from core dumps, wiped on release.

private import CLibCrypto
private import CVaultShims
private import Foundation

// Safe to share: the bytes are written only by init and random(count:), before any other code has a
// reference to the object.
/// A fixed number of secret bytes.
///
/// The pages are mapped for this object alone, locked against swapping where the process may lock memory
/// (`mlock`; a refusal is tolerated), on Linux excluded from core dumps, and wiped before they are
/// unmapped. The object's description is its size only.
@safe public final class SecureBytes: @unchecked Sendable {
  // Mapped by init for this object alone, `mapped` bytes, and unmapped by deinit. Callers that receive an
  // address keep the object alive meanwhile (withBytes).
  private let memory: UnsafeMutableRawPointer
  private let mapped: Int
  /// The number of bytes.
  public let count: Int

  /// Maps `count` zeroed bytes and lets `fill` write them.
  /// - Parameters:
  ///   - count: The number of bytes.
  ///   - fill: Writes the bytes; the buffer is valid during the call only.
  /// - Throws: ``SQLError/system(file:operation:code:)`` when no memory can be mapped; what `fill`
  ///   throws.
  public convenience init(count: Int, fill: (UnsafeMutableRawBufferPointer) throws -> Void) throws {
    try self.init(zeros: count)
    try unsafe fill(UnsafeMutableRawBufferPointer(start: memory, count: count))
  }

  private init(zeros count: Int) throws(SQLError) {
    let page = Int(sysconf(Int32(_SC_PAGESIZE)))
    let mapped = max(page, (count + page - 1) / page * page)
    #if canImport(Glibc)
      let flags = MAP_PRIVATE | Int32(MAP_ANONYMOUS)
    #else
      let flags = MAP_PRIVATE | MAP_ANON
    #endif
    let found = unsafe mmap(nil, mapped, PROT_READ | PROT_WRITE, flags, -1, 0)
    guard let memory = unsafe found, unsafe memory != MAP_FAILED else {
      throw .system(file: "memory", operation: "mmap", code: Int(errno))
    }
    _ = unsafe mlock(memory, mapped)
    #if canImport(Glibc)
      _ = unsafe madvise(memory, mapped, 16 /* MADV_DONTDUMP */)
    #endif
    unsafe self.memory = unsafe memory
    self.mapped = mapped
    self.count = count
  }

  deinit {
    unsafe vault_wipe(memory, mapped)
    _ = unsafe munlock(memory, mapped)
    unsafe munmap(memory, mapped)
  }

  /// Copies bytes into secure memory. The caller is responsible for wiping its own copy.
  /// - Parameter bytes: The bytes.
  /// - Throws: ``SQLError/system(file:operation:code:)`` when no memory can be mapped.
  public convenience init(copying bytes: some Collection<UInt8>) throws(SQLError) {
    try self.init(zeros: bytes.count)
    unsafe UnsafeMutableRawBufferPointer(start: memory, count: count).copyBytes(from: bytes)
  }

  /// Returns `count` random bytes from libcrypto's generator.
  /// - Parameter count: The number of bytes.
  /// - Throws: ``SQLError/system(file:operation:code:)`` when no memory can be mapped, or the generator
  ///   fails.
  public static func random(count: Int) throws(SQLError) -> SecureBytes {
    let bytes = try SecureBytes(zeros: count)
    guard unsafe RAND_bytes(bytes.memory.assumingMemoryBound(to: UInt8.self), Int32(count)) == 1 else {
      throw .system(file: "memory", operation: "RAND_bytes", code: 0)
    }
    return bytes
  }

  /// Whether both have the same bytes, in a time that does not depend on where they differ.
  func isEqual(to other: SecureBytes) -> Bool {
    unsafe count == other.count && CRYPTO_memcmp(memory, other.memory, count) == 0
  }

  /// Checks that a passphrase does not end in a zero byte.
  /// - Throws: ``SQLError/keyEndsInZero``.
  func requireNoZeroAtEnd() throws {
    guard unsafe withBytes({ unsafe $0.last }) != 0 else { throw SQLError.keyEndsInZero }
  }

  /// Passes the bytes to `body`; the buffer is valid during the call only.
  /// - Parameter body: Reads the bytes.
  /// - Returns: What `body` returns.
  /// - Throws: What `body` throws.
  public func withBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
    try unsafe body(UnsafeRawBufferPointer(start: memory, count: count))
  }
}

extension SecureBytes: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// The size, never the content.
  public var description: String { "\(count) secret bytes" }
  /// The size, never the content.
  public var debugDescription: String { description }
  /// A mirror without children, so that a dump shows no content.
  public var customMirror: Mirror { Mirror(self, children: []) }
}
