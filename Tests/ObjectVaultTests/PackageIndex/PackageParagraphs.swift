// Parses the paragraphs of a package index.

import Foundation

/// One version of a package, as the index describes it.
struct PackageParagraph: Sendable {
  /// One alternative of one dependency.
  struct Need: Sendable {
    var relation: FirstIndex.Relation
    /// The index of the dependency in its field.
    var group: Int
    /// The index of the alternative in its dependency.
    var position: Int
    var name: String
    /// The word after a colon, such as `any`.
    var qualifier: String?
    var comparison: String?
    var bound: String?
  }

  let fields: [String: String]
  let needs: [Need]
  let tags: Set<String>

  var name: String { fields["Package"] ?? "" }
  /// The key of the described file: paragraphs with the same key describe the same file.
  var key: [String] { [name, fields["Version"] ?? "", fields["Architecture"] ?? ""] }

  init(_ fields: [String: String]) {
    self.fields = fields
    needs = FirstIndex.Relation.allCases.flatMap { relation in
      Self.needs(fields[relation.field] ?? "", relation)
    }
    tags = Set(
      (fields["Tag"] ?? "").split { $0 == "," || $0 == "\n" }.map(Self.trimmed).filter { !$0.isEmpty })
  }

  private static func trimmed(_ text: Substring) -> String { text.trimmingCharacters(in: .whitespaces) }

  private static func needs(_ field: String, _ relation: FirstIndex.Relation) -> [Need] {
    field.split(separator: ",").enumerated().flatMap { group, text in
      text.split(separator: "|").enumerated().map { position, text in
        need(text, relation, group: group, position: position)
      }
    }
  }

  private static func need(
    _ text: Substring, _ relation: FirstIndex.Relation, group: Int, position: Int
  ) -> Need {
    let bracket = text.firstIndex(of: "(")
    let names = text[..<(bracket ?? text.endIndex)].split(separator: ":", maxSplits: 1).map(trimmed)
    var need = Need(relation: relation, group: group, position: position, name: names[0])
    if names.count > 1 { need.qualifier = names[1] }
    if let bracket {
      let inside = trimmed(text[bracket...]).dropFirst().dropLast()
      let comparison = inside.prefix { "<>=".contains($0) }
      need.comparison = String(comparison)
      need.bound = trimmed(inside[comparison.endIndex...])
    }
    return need
  }

  private static let known: Set<String> = [
    "Package", "Version", "Architecture", "Maintainer", "Installed-Size", "Depends", "Pre-Depends",
    "Recommends",
    "Suggests", "Description", "Homepage", "Tag", "Section", "Priority", "Size", "MD5sum",
  ]

  /// Returns the paragraphs of a file, without repeated ones.
  static func read(_ url: URL) throws -> [PackageParagraph] {
    var found: [PackageParagraph] = []
    var keys: Set<[String]> = []
    var fields: [String: String] = [:]
    var current: String?
    func end() {
      guard !fields.isEmpty else { return }
      let paragraph = PackageParagraph(fields)
      if keys.insert(paragraph.key).inserted { found.append(paragraph) }
      (fields, current) = ([:], nil)
    }
    try Data(contentsOf: url).forEachLine { line in
      if line.isEmpty {
        end()
      } else if line.hasPrefix(" ") || line.hasPrefix("\t") {
        if let current { fields[current, default: ""] += "\n" + line }
      } else if let colon = line.firstIndex(of: ":") {
        let name = String(line[..<colon])
        current = known.contains(name) ? name : nil
        if let current { fields[current] = trimmed(line[line.index(after: colon)...]) }
      }
    }
    end()
    return found
  }
}
