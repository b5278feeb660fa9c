// Memory for key bytes: outside the Swift heap, locked, kept out of core dumps, wiped on release.

private import CLibCrypto
private import CVaultShims
private import Foundation

// Safe to share: the bytes are written only inside init, before anyone else can hold the object.
/// A fixed number of secret bytes.
///
/// The pages are mapped for this value alone, locked against swapping where the process may lock memory
/// (`mlock`; a refusal is tolerated), excluded from core dumps, and wiped before they are returned.
/// Prints as its size only.
public final class SecureBytes: @unchecked Sendable {
  private let memory: UnsafeMutableRawPointer
  private let mapped: Int
  /// How many bytes there are.
  public let count: Int

  /// Maps `count` zeroed bytes and lets `fill` write them.
  /// - Throws: ``SQLError/system(file:operation:code:)`` when no memory can be mapped.
  public init(count: Int, fill: (UnsafeMutableRawBufferPointer) throws -> Void) throws {
    let page = Int(sysconf(Int32(_SC_PAGESIZE)))
    let mapped = max(page, (count + page - 1) / page * page)
    #if canImport(Glibc)
      let flags = MAP_PRIVATE | Int32(MAP_ANONYMOUS)
    #else
      let flags = MAP_PRIVATE | MAP_ANON
    #endif
    guard let memory = mmap(nil, mapped, PROT_READ | PROT_WRITE, flags, -1, 0), memory != MAP_FAILED else {
      throw SQLError.system(file: "memory", operation: "mmap", code: Int(errno))
    }
    _ = mlock(memory, mapped)
    #if canImport(Glibc)
      _ = madvise(memory, mapped, 16 /* MADV_DONTDUMP */)
    #endif
    self.memory = memory
    self.mapped = mapped
    self.count = count
    try fill(UnsafeMutableRawBufferPointer(start: memory, count: count))
  }

  deinit {
    vault_wipe(memory, mapped)
    _ = munlock(memory, mapped)
    munmap(memory, mapped)
  }

  /// A secure copy of `bytes`. The caller's copy is the caller's to wipe.
  public convenience init(copying bytes: some Collection<UInt8>) throws {
    try self.init(count: bytes.count) { $0.copyBytes(from: bytes) }
  }

  /// `count` random bytes from libcrypto's generator.
  public static func random(count: Int) throws -> SecureBytes {
    try SecureBytes(count: count) { buffer in
      guard RAND_bytes(buffer.baseAddress?.assumingMemoryBound(to: UInt8.self), Int32(count)) == 1 else {
        throw SQLError.system(file: "memory", operation: "RAND_bytes", code: 0)
      }
    }
  }

  /// Lends the bytes for the length of the call.
  public func withBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
    try body(UnsafeRawBufferPointer(start: memory, count: count))
  }
}

extension SecureBytes: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// The size, never the content.
  public var description: String { "\(count) secret bytes" }
  /// The size, never the content.
  public var debugDescription: String { description }
  /// Nothing.
  public var customMirror: Mirror { Mirror(self, children: []) }
}
