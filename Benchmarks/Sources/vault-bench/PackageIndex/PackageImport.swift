// Paragraphs into objects, all in one write: the process whose time and memory are measured.

import Foundation
import ObjectVault

/// What a process that imported an index says of itself: this program and package_index.py.
struct ImportReport: Codable {
  /// The most that it had in memory, in bytes.
  let peak: Int
  /// How many rows each table has.
  let rows: [String: Int]
}

/// Reads an index into a store.
struct PackageImport {
  private let context: ObjectContext
  private var sections: Named<DebianIndex.Section>
  private var packages: Named<DebianIndex.Package>
  private var maintainers: Named<DebianIndex.Maintainer>
  private var tags: Named<DebianIndex.Tag>
  private var seen: Set<Key> = []
  private(set) var rows: [String: Int] = [:]
  /// When every index was seen.
  private static let day = Date(timeIntervalSinceReferenceDate: 800_000_000.125)
  private static let relations: [(PackageField, DebianIndex.Relation)] = [
    (.depends, .depends), (.preDepends, .preDepends), (.recommends, .recommends), (.suggests, .suggests),
  ]

  /// Two paragraphs of one key describe the same file.
  private struct Key: Hashable {
    let name, version, architecture: String
  }

  /// Imports a file in a process of its own, and prints a report.
  static func run(_ index: String, into url: URL) async throws {
    let store = try await DebianIndex.open(url)
    let rows = try await store.write { context in
      var run = PackageImport(context)
      try PackageParagraph.forEach(in: index) { run.add($0) }
      return run.counts
    }
    store.close()
    let report = ImportReport(peak: peakBytes(), rows: rows)
    print(String(decoding: try JSONEncoder().encode(report), as: UTF8.self))
  }

  private init(_ context: ObjectContext) {
    self.context = context
    sections = Named(context, \.name)
    packages = Named(context, \.name)
    maintainers = Named(context, \.address)
    tags = Named(context, \.name)
  }

  private var counts: [String: Int] {
    rows.merging(
      [
        "Section": sections.count, "Package": packages.count, "Maintainer": maintainers.count,
        "Tag": tags.count,
      ]) { $1 }
  }

  private mutating func add(_ paragraph: PackageParagraph) {
    let name = paragraph.text(.package) ?? ""
    let number = paragraph.text(.version) ?? ""
    let architecture = paragraph.text(.architecture) ?? ""
    guard seen.insert(Key(name: name, version: number, architecture: architecture)).inserted else { return }
    let package = packages.find(name)
    if package.section == nil {
      package.section = sections.find(paragraph.text(.section) ?? "unknown")
      package.homepage = paragraph.text(.homepage)
    }
    addTags(of: paragraph, to: package)
    let version = context.insert(DebianIndex.Version.self) {
      $0.text = number
      $0.architecture = architecture
      $0.priority = paragraph.text(.priority) ?? ""
      $0.installedSize = paragraph.number(.installedSize)
      $0.size = paragraph.number(.size)
      $0.summary = paragraph.text(.description) ?? ""
      $0.seen = Self.day
      $0.package = package
    }
    rows["Version", default: 0] += 1
    if let address = paragraph.text(.maintainer) { version.maintainer = maintainers.find(address) }
    if let digest = paragraph[.digest].flatMap(UUID.init(digits:)) {
      version.fingerprint = context.insert(DebianIndex.Fingerprint.self) { $0.digest = digest }
      rows["Fingerprint", default: 0] += 1
    }
    addNeeds(of: paragraph, to: version)
  }

  private mutating func addTags(of paragraph: PackageParagraph, to package: DebianIndex.Package) {
    var found: Set<DebianIndex.Tag> = []
    paragraph.forEachTag { found.insert(tags.find($0.text)) }
    guard !found.isEmpty else { return }
    let before = package.tags.count
    package.tags.formUnion(found)
    rows["Tag_packages", default: 0] += package.tags.count - before
  }

  private mutating func addNeeds(of paragraph: PackageParagraph, to version: DebianIndex.Version) {
    var count = 0
    for (field, relation) in Self.relations {
      paragraph.forEachNeed(field) { need in
        let target = packages.find(need.name.text)
        context.insert(DebianIndex.Dependency.self) {
          $0.kind = relation
          $0.group = need.group
          $0.position = need.position
          $0.qualifier = need.qualifier?.text
          $0.comparison = need.comparison?.text
          $0.bound = need.bound?.text
          $0.version = version
          $0.target = target
        }
        count += 1
      }
    }
    rows["Dependency", default: 0] += count
  }
}

/// New objects by their names, made as they are asked for.
private struct Named<Object: ManagedObject> {
  let context: ObjectContext
  let path: ReferenceWritableKeyPath<Object, String>
  private var known: [String: Object] = [:]

  init(_ context: ObjectContext, _ path: ReferenceWritableKeyPath<Object, String>) {
    (self.context, self.path) = (context, path)
  }

  var count: Int { known.count }

  mutating func find(_ name: String) -> Object {
    if let object = known[name] { return object }
    let object = context.insert(Object.self) { $0[keyPath: path] = name }
    known[name] = object
    return object
  }
}

/// The most that this process had in memory, in bytes; 0 where the system does not say.
private func peakBytes() -> Int {
  let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
  let line = status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
  return (line?.split(whereSeparator: { !$0.isNumber }).first.flatMap { Int($0) } ?? 0) * 1024
}
