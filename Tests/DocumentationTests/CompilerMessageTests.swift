// The compiler's message for a mistyped name: it reports the name, and nothing else.

import Foundation
import TestSupport
import Testing

@Suite(.tags(.documents, .slow, .pure)) struct CompilerMessages {
  private static let classes = """
    import ObjectVault
    final class Tag: ManagedObject {
      @Attribute var name: String
      @ToMany(inverse: \\Pet.tag) var pets: Set<Pet>
    }
    final class Pet: ManagedObject { @ToOne var tag: Tag? }
    extension Tag: Identifiable {}
    func known<Object: Identifiable>(_ object: Object) -> Object.ID { object.id }
    func ids(_ tag: Tag, _ other: DynamicObject) -> (ObjectID<Tag>, DynamicID) { (known(tag), known(other)) }

    """

  @Test func `an object of a class is identifiable by its id in one line`() async throws {
    let result = try await ReaderProgram.check(["main.swift": Self.classes])
    #expect(result.status == 0, "\(result.errors)")
  }

  @Test(arguments: [
    "try context.findOrInsert(Tag.self, where: \\.name, is: KEY)",
    "try context.upsert([KEY], into: Tag.self, on: \\.name, by: \\.self) { _, _ in }",
    "try await store.upsert(contentsOf: [KEY], into: Tag.self, on: \\.name, by: { $0 }) { _, _ in }",
    "try context.upsert([KEY], into: Tag.self, on: (\\.name, \\.name), by: { ($0, \"\") }) { _, _ in }",
  ])
  func `a key of another type than its attribute does not compile`(_ line: String) async throws {
    for (key, compiles) in [("\"a\"", true), ("17", false)] {
      let source =
        Self.classes + "func body(_ context: ObjectContext, _ store: Store) async throws { "
        + line.replacing("KEY", with: key) + " }\n"
      let result = try await ReaderProgram.check(["main.swift": source])
      #expect((result.status == 0) == compiles, "\(result.errors)")
    }
  }

  @Test(arguments: [
    "_ = try context.fetch(Tag.self).sorted(by: \\.nmae).all()",
    "_ = try context.fetch(Tag.self).where(\"name == 'x'\").sorted(by: \\.nmae, .reverse).first()",
    "let found: [Tag] = try context.fetch(Tag.self).sorted(by: \\.nmae).limit(2).all(); _ = found",
  ])
  func `the compiler reports a mistyped property of a sort as such`(_ line: String) async throws {
    let source = Self.classes + "func body(_ context: ObjectContext) throws { \(line) }\n"
    let result = try await ReaderProgram.check(["main.swift": source])
    let errors = result.errors.split(separator: "\n").filter {
      $0.contains("main.swift") && $0.contains("error:")
    }
    #expect(
      errors.count == 1 && errors[0].contains("value of type 'Tag' has no member 'nmae'"), "\(result.errors)")
  }
}
