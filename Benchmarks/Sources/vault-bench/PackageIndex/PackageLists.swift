// Where a package index comes from: the lists that apt has fetched.

import Foundation

enum PackageLists {
  private static let folder = "/var/lib/apt/lists"
  /// The program that reads lists, whatever their compression.
  private static let reader = "/usr/lib/apt/apt-helper"

  /// Writes all lists of this machine into one file.
  /// - Returns: Whether there are any, and they could be read.
  static func write(to url: URL) throws -> Bool {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    let lists = names.filter { $0.hasSuffix("_Packages") || $0.contains("_Packages.") }.sorted()
    guard !lists.isEmpty, FileManager.default.isExecutableFile(atPath: reader) else { return false }
    try Data().write(to: url)
    let file = try FileHandle(forWritingTo: url)
    defer { try? file.close() }
    let process = Process()
    process.executableURL = URL(fileURLWithPath: reader)
    process.arguments = ["cat-file"] + lists.map { "\(folder)/\($0)" }
    process.standardOutput = file
    try process.run()
    process.waitUntilExit()
    return process.terminationStatus == 0
  }
}
