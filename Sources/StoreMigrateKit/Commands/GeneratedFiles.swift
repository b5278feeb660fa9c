// The three generated files of a migrations folder: what `embed` writes and `check` compares.

import CipherSQLite
import Foundation
import ObjectVault

struct GeneratedFiles {
  let folder: URL
  let set: MigrationSet
  let typeName: String
  /// What the lock file says was released.
  let releases: Releases
  /// The models behind the steps.
  let models: [Schema]

  /// - Parameters:
  ///   - folder: Where the files lie.
  ///   - set: The steps, where they are not those of the folder as yet.
  ///   - typeName: How the enum is called; nil keeps its name.
  ///   - release: What is released with these steps.
  init(
    folder: URL, set: MigrationSet? = nil, typeName: String? = nil, releasing release: String? = nil
  ) throws {
    self.folder = folder
    self.set = try set ?? .directory(folder)
    self.typeName = try typeName ?? Self.presentTypeName(folder) ?? "AppMigrations"
    var releases = try Releases(folder)
    if let release { try releases.add(release, after: self.set.version) }
    self.releases = releases
    models = try self.set.models()
  }

  /// The files with their texts, in the order they are written.
  func contents() -> [(file: GeneratedFile, text: String)] {
    [
      (.lock, lock()), (.model, GeneratedFile.marked(model: models.last ?? Schema())),
      (.steps, embedded()),
    ]
  }

  /// Checks that the files may be written; the only way to write them. Call it before a command changes anything.
  /// - Throws: As ``Releases/requireKept(in:)`` and ``GeneratedFile/requireOwn(in:)``.
  func writable() throws -> WritableFiles {
    for file in GeneratedFile.allCases { try file.requireOwn(in: folder) }
    try releases.requireKept(in: set)
    return WritableFiles(self)
  }

  /// The folder as a target of a package.
  var target: PackageTarget {
    PackageTarget(
      folder, typeName: typeName, generated: [GeneratedFile.lock, .model].map(\.rawValue))
  }

  private static func presentTypeName(_ folder: URL) throws -> String? {
    try GeneratedFile.steps.text(in: folder)?.firstMatch(of: /public enum (\w+)/).map { String($0.1) }
  }

  /// One line for each step, chained: two branches that add the same number conflict on purpose.
  private func lock() -> String {
    var lines = [GeneratedFile.lock.mark + ". A conflict here means that two branches added a step."]
    var chain = ""
    let texts = SchemaTexts()
    for (step, model) in zip(set.steps, models) {
      // A step that was folded keeps its line, by which released ones are known.
      let line =
        "\(numbered(step.number)) \(step.name) \(step.checksum) "
        + (step.isPlaceholder
          ? "folded:\(numbered(set.foldedVersion))" : "model:\(texts.meaningHash(of: model))")
        + (step.folds.isEmpty ? "" : " \(Releases.foldWord)\(step.contentChecksum)")
      chain = sha256(Data((chain + line).utf8))
      lines.append("\(line) chain:\(chain)")
      lines += releases.names(after: step.number).map { "\(Releases.word) \($0)" }
    }
    return lines.joined(separator: "\n") + "\n"
  }

  /// A text as a literal between these marks has it: the compiler takes no sign that cannot be seen.
  private static func spelled(_ text: String, _ marks: String) -> String {
    let isHidden = { (scalar: Unicode.Scalar) in
      scalar.properties.generalCategory == .control && scalar != "\n" && scalar != "\t"
    }
    guard text.unicodeScalars.contains(where: isHidden) else { return text }
    return text.unicodeScalars.reduce(into: "") { spelled, scalar in
      if isHidden(scalar) {
        spelled += "\\\(marks)u{\(String(scalar.value, radix: 16))}"
      } else {
        spelled.unicodeScalars.append(scalar)
      }
    }
  }

  private func embedded() -> String {
    var text = """
      \(GeneratedFile.steps.mark) from the migration files beside it. Do not edit.

      public import ObjectVault

      /// The migration steps of this folder.
      public enum \(typeName) {
        /// For `Store.open(at:key:schema:migrations:)`.
        public static var all: Store.Migrations { .embedded(steps) }

        /// The steps, for `MigrationSet.embedded(_:)`.
        public static let steps: [MigrationSet.Embedded] = [

      """
    for step in set.steps where !step.isPlaceholder {
      // More number signs than any run in the text, so that nothing in it can end the literal.
      let longest = step.text.unicodeScalars.split { $0 != "#" }.map(\.count).max() ?? 0
      let marks = String(repeating: "#", count: longest + 1)
      let body = Self.spelled(step.text, marks).split(separator: "\n", omittingEmptySubsequences: false)
        .map { $0.isEmpty ? "" : "        \($0)" }.joined(separator: "\n")
      text += """
            MigrationSet.Embedded(
              number: \(step.number), name: \(SwiftLiteral.quoted(step.name)),
              checksum: "\(step.contentChecksum)",
              text: \(marks)\"""
        \(body)
                \"""\(marks)),

        """
    }
    return text + "  ]\n}\n"
  }
}

/// The generated files of a folder that may be written: no file of these names is the user's own, and no released step differs.
struct WritableFiles {
  let files: GeneratedFiles
  /// The files with their texts, in the order they are written.
  let contents: [(file: GeneratedFile, text: String)]

  fileprivate init(_ files: GeneratedFiles) { (self.files, contents) = (files, files.contents()) }
}
