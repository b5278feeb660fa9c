// The three generated files of a migrations folder, which `embed` writes and `check` compares.

import CipherSQLite
import Foundation
import ObjectVault

struct GeneratedFiles {
  let folder: URL
  let set: MigrationSet
  let typeName: String
  /// The releases that the lock file lists.
  let releases: Releases
  /// The models after each of the steps.
  let models: [Schema]

  /// - Parameters:
  ///   - folder: The folder that contains the files.
  ///   - set: The steps, when they differ from those that the folder has at present; nil reads the
  ///     folder.
  ///   - typeName: The name of the enum in Embedded.swift; nil keeps the present one.
  ///   - release: The name of the release that these steps are part of; nil for none.
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

  /// Returns the files with their texts, in the order of writing.
  func contents() -> [(file: GeneratedFile, text: String)] {
    [
      (.lock, lock()), (.model, GeneratedFile.marked(model: models.last ?? Schema())),
      (.steps, embedded()),
    ]
  }

  /// Checks that the files may be written. Only the value that it returns can be written. Call it before
  /// a command changes anything.
  /// - Throws: The errors of ``Releases/requireKept(in:)`` and ``GeneratedFile/requireOwn(in:)``.
  func writable() throws -> WritableFiles {
    for file in GeneratedFile.allCases { try file.requireOwn(in: folder) }
    try releases.requireKept(in: set)
    return WritableFiles(self)
  }

  /// The folder as a target of a Swift package.
  var target: PackageTarget {
    PackageTarget(
      folder, typeName: typeName, generated: [GeneratedFile.lock, .model].map(\.rawValue))
  }

  private static func presentTypeName(_ folder: URL) throws -> String? {
    try GeneratedFile.steps.text(in: folder)?.firstMatch(of: /public enum (\w+)/).map { String($0.1) }
  }

  /// Returns the text of the lock file. Each step has one line, with a chained checksum, so that two
  /// branches which add a step with the same number conflict when they are merged.
  private func lock() -> String {
    var lines = [GeneratedFile.lock.mark + ". A conflict here means that two branches added a step."]
    var chain = ""
    let texts = SchemaTexts()
    for (step, model) in zip(set.steps, models) {
      // A folded step keeps its line, because released steps are recognized by it.
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

  /// Returns a text as it has to be written in a literal with these number signs: control characters that
  /// the compiler rejects are escaped.
  private static func spelled(_ text: String, marks: String) -> String {
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
      // One number sign more than the text has in a row, so that nothing in the text can end the literal.
      let longest = step.text.unicodeScalars.split { $0 != "#" }.map(\.count).max() ?? 0
      let marks = String(repeating: "#", count: longest + 1)
      let body = Self.spelled(step.text, marks: marks).split(
        separator: "\n", omittingEmptySubsequences: false
      )
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

/// Generated files that may be written: no file of these names is the user's own, and no released step
/// differs.
struct WritableFiles {
  let files: GeneratedFiles
  /// The files with their texts, in the order of writing.
  let contents: [(file: GeneratedFile, text: String)]

  fileprivate init(_ files: GeneratedFiles) { (self.files, contents) = (files, files.contents()) }
}
