// A folder of a test's own, removed when the test releases it.

public import Foundation

/// A folder that is removed on release.
public final class TemporaryFolder: Sendable {
  /// The folder.
  public let url: URL

  /// Creates the folder.
  public init() throws {
    url = FileManager.default.temporaryDirectory.appendingPathComponent("vault-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(at: url) }

  /// The path of a file in the folder.
  public func path(_ name: String) -> String { url.appendingPathComponent(name).path }

  /// The names of all files in the folder, sorted.
  public var names: [String] {
    ((try? FileManager.default.contentsOfDirectory(atPath: url.path)) ?? []).sorted()
  }

  /// The content of a file of the folder.
  public func bytes(_ name: String) throws -> Data { try Data(contentsOf: url.appendingPathComponent(name)) }

  /// Replaces the content of a file of the folder.
  public func write(_ bytes: Data, to name: String) throws {
    try bytes.write(to: url.appendingPathComponent(name))
  }

  /// Changes one bit of a file of the folder in place, as a failing disk would.
  public func flip(_ name: String, at offset: Int) throws {
    let file = try FileHandle(forUpdating: url.appendingPathComponent(name))
    defer { try? file.close() }
    try file.seek(toOffset: UInt64(offset))
    let byte = try file.read(upToCount: 1)?.first ?? 0
    try file.seek(toOffset: UInt64(offset))
    try file.write(contentsOf: Data([byte ^ 1]))
  }
}
