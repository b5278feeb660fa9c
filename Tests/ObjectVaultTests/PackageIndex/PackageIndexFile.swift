// A package index as a file that Swift and Python both read: the index of this machine, if there is one,
// and a generated one of the same shape.
//
// By default 6,000 paragraphs of one index are used, and the index alternates daily. Their dependencies
// are more than the 20,000 rows from which a scan is split. The long form uses all of both (some 66,000
// and 60,000).

import Foundation
import TestSupport
import Testing

/// The source of a package index.
enum PackageIndexFile: String, CaseIterable, Sendable, CustomTestStringConvertible {
  case generated
  /// The lists that apt has fetched on this machine, or else the packages that dpkg has installed.
  case machine

  var testDescription: String { rawValue }

  /// The sources that this run uses, out of those that are available here.
  static let available = {
    let all = allCases.filter { $0 == .generated || !machinePaths.isEmpty }
    return Rotation.part(of: all, oneIn: all.count)
  }()

  /// The maximum number of paragraphs; nil for all.
  static let limit: Int? = isTorture ? nil : 4_500

  /// Writes the index into a folder.
  /// - Returns: The file.
  func write(into folder: TemporaryFolder) throws -> URL {
    let url = folder.url.appendingPathComponent("\(rawValue).Packages")
    switch self {
    case .generated: try GeneratedPackages.text(Self.limit ?? 60_000).write(to: url)
    case .machine: try Self.thinned(Self.machineText()).write(to: url)
    }
    return url
  }

  // MARK: The index of this machine

  private static let lists = "/var/lib/apt/lists"
  private static let installed = "/var/lib/dpkg/status"
  /// Reads compressed lists, with any compression.
  private static let reader = "/usr/lib/apt/apt-helper"

  private static let machinePaths: [String] = {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: lists)) ?? []
    let plain = names.filter { $0.hasSuffix("_Packages") }
    let packed = names.filter { $0.contains("_Packages.") && !$0.hasSuffix(".diff") }
    let canUnpack = FileManager.default.isExecutableFile(atPath: reader)
    let found = (canUnpack ? plain + packed : plain).sorted().map { "\(lists)/\($0)" }
    if !found.isEmpty { return found }
    return FileManager.default.isReadableFile(atPath: installed) ? [installed] : []
  }()

  private static func machineText() throws -> Data {
    if machinePaths.allSatisfy({ $0.hasSuffix("_Packages") || $0 == installed }) {
      return try machinePaths.reduce(into: Data()) { $0 += try Data(contentsOf: URL(fileURLWithPath: $1)) }
    }
    let result = try runTool(reader, ["cat-file"] + machinePaths)
    try #require(result.status == 0, "\(result.errors)")
    return Data(result.output.utf8)
  }

  /// Returns at most as many paragraphs as the limit, taken evenly from the whole text.
  private static func thinned(_ text: Data) -> Data {
    guard let limit else { return text }
    let paragraphs = text.paragraphs
    let stride = (paragraphs.count + limit - 1) / max(1, limit)
    guard stride > 1 else { return text }
    var some = Data()
    for index in Swift.stride(from: 0, to: paragraphs.count, by: stride) {
      some += text[paragraphs[index]] + [10, 10]
    }
    return some
  }
}

extension Data {
  /// The ranges of the paragraphs, between blank lines.
  fileprivate var paragraphs: [Range<Int>] {
    // Searching a Data for another copies all of it each time.
    withUnsafeBytes { bytes in
      var found: [Range<Int>] = []
      var (start, line) = (0, 0)
      while line < bytes.count, let base = bytes.baseAddress {
        let end =
          memchr(base + line, 10, bytes.count - line).map { UnsafeRawPointer($0) - base } ?? bytes.count
        if end == line {
          if start < line { found.append(start..<line - 1) }
          start = end + 1
        }
        line = end + 1
      }
      if start < bytes.count { found.append(start..<bytes.count) }
      return found
    }
  }

  /// Calls `body` with each line, without its end.
  func forEachLine(_ body: (String) throws -> Void) rethrows {
    try withUnsafeBytes { bytes in
      var start = 0
      while start < bytes.count, let base = bytes.baseAddress {
        let end =
          memchr(base + start, 10, bytes.count - start).map { UnsafeRawPointer($0) - base } ?? bytes.count
        try body(String(decoding: bytes[start..<end], as: UTF8.self))
        start = end + 1
      }
    }
  }
}
