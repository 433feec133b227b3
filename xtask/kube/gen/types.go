package main

import (
	"fmt"
	"log"
	"os"
	"path/filepath"
	"reflect"
	"sort"
	"strconv"
	"strings"
	"unicode"

	admissionv1 "k8s.io/api/admission/v1"
	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)

// linesPerFile bounds the generated files, so that editors and reviews stay quick.
const linesPerFile = 760

// special maps the types that write themselves as JSON to the shapes that the codecs know.
var special = map[reflect.Type]string{
	reflect.TypeFor[metav1.Time]():                                  "Shape::Time",
	reflect.TypeFor[metav1.MicroTime]():                             "Shape::MicroTime",
	reflect.TypeFor[resource.Quantity]():                            "Shape::Quantity",
	reflect.TypeFor[intstr.IntOrString]():                           "Shape::IntOrString",
	reflect.TypeFor[runtime.RawExtension]():                         "Shape::RawExtension",
	reflect.TypeFor[runtime.Unknown]():                              "Shape::Json",
	reflect.TypeFor[metav1.FieldsV1]():                              "Shape::FieldsV1",
	reflect.TypeFor[apiextensionsv1.JSON]():                         "Shape::Json",
	reflect.TypeFor[apiextensionsv1.JSONSchemaPropsOrBool]():        "Shape::SchemaOrBool",
	reflect.TypeFor[apiextensionsv1.JSONSchemaPropsOrArray]():       "Shape::SchemaOrArray",
	reflect.TypeFor[apiextensionsv1.JSONSchemaPropsOrStringArray](): "Shape::SchemaOrStringArray",
}

type jsonUnmarshaler interface{ UnmarshalJSON([]byte) error }
type protoMarshaler interface{ Marshal() ([]byte, error) }
type modelNamer interface{ OpenAPIModelName() string }

// structure is one Go struct with its Rust static.
type structure struct {
	goType  reflect.Type
	rust    string
	openapi string
	file    string
	lines   []string
}

type root struct {
	apiVersion, kind, rust string
}

type typeTable struct {
	schemas  map[string]schemaOf
	scheme   *runtime.Scheme
	types    map[reflect.Type]*structure
	elements map[string]string
	order    []string
	roots    []root
}

func newTypeTable(schemas map[string]schemaOf) *typeTable {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientscheme.AddToScheme, apiextensionsv1.AddToScheme, apiregistrationv1.AddToScheme,
		admissionv1.AddToScheme, apidiscoveryv2.AddToScheme, auditv1.AddToScheme, metav1.AddMetaToScheme,
	} {
		check(add(scheme))
	}
	return &typeTable{schemas: schemas, scheme: scheme, types: map[reflect.Type]*structure{}, elements: map[string]string{}}
}

// addServed adds every kind of the served versions, and the kinds that requests and answers are made of.
func (t *typeTable) addServed(groups []group) {
	versions := []schema.GroupVersion{
		{Group: "admission.k8s.io", Version: "v1"}, {Group: "apidiscovery.k8s.io", Version: "v2"},
		{Group: "audit.k8s.io", Version: "v1"}, {Group: "meta.k8s.io", Version: "v1"},
	}
	for _, group := range groups {
		for _, version := range group.Versions {
			versions = append(versions, schema.GroupVersion{Group: group.Metadata.Name, Version: version.Version})
		}
	}
	sort.Slice(versions, func(i, j int) bool { return versions[i].String() < versions[j].String() })
	for _, version := range versions {
		known := t.scheme.KnownTypes(version)
		if len(known) == 0 {
			log.Fatalf("no types are known for %s", version)
		}
		kinds := make([]string, 0, len(known))
		for kind := range known {
			kinds = append(kinds, kind)
		}
		sort.Strings(kinds)
		for _, kind := range kinds {
			goType := known[kind]
			options := goType.PkgPath() == reflect.TypeFor[metav1.Time]().PkgPath()
			if options && version.String() != "v1" && version.Group != "meta.k8s.io" {
				continue
			}
			if options && version.Group == "meta.k8s.io" && !strings.HasPrefix(kind, "Table") && !strings.HasPrefix(kind, "Partial") {
				continue
			}
			if _, ok := goType.FieldByName("TypeMeta"); !ok && kind != "WatchEvent" {
				log.Fatalf("%s %s has no TypeMeta", version, kind)
			}
			added := t.structure(goType, "")
			t.roots = append(t.roots, root{apiVersion: version.String(), kind: kind, rust: added.rust})
		}
	}
}

// addKeptInAnnotations adds the types that version 1 of the autoscaler keeps as JSON in annotations.
func (t *typeTable) addKeptInAnnotations() {
	t.structure(reflect.TypeFor[autoscalingv1.MetricSpec](), "")
	t.structure(reflect.TypeFor[autoscalingv1.MetricStatus](), "")
	t.structure(reflect.TypeFor[autoscalingv1.HorizontalPodAutoscalerCondition](), "")
}

func openAPIName(goType reflect.Type) string {
	if namer, ok := reflect.New(goType).Interface().(modelNamer); ok {
		return namer.OpenAPIModelName()
	}
	return ""
}

// rustName makes CORE_V1_POD_SPEC of k8s.io/api/core/v1 and PodSpec.
func rustName(goType reflect.Type) (static, file string) {
	steps := strings.Split(goType.PkgPath(), "/")
	prefix := steps[len(steps)-1]
	if len(steps) > 1 {
		prefix = steps[len(steps)-2] + "_" + prefix
	}
	prefix = strings.ReplaceAll(prefix, "-", "_")
	var name strings.Builder
	for i, c := range goType.Name() {
		previousLower := i > 0 && !unicode.IsUpper(rune(goType.Name()[i-1]))
		nextLower := i+1 < len(goType.Name()) && unicode.IsLower(rune(goType.Name()[i+1]))
		if unicode.IsUpper(c) && i > 0 && (previousLower || nextLower) {
			name.WriteByte('_')
		}
		name.WriteRune(unicode.ToUpper(c))
	}
	return strings.ToUpper(prefix) + "_" + name.String(), prefix
}

// structure adds a struct and everything below it. The parent's schema speaks for inlined structs, which OpenAPI
// documents do not list.
func (t *typeTable) structure(goType reflect.Type, parent string) *structure {
	if known, ok := t.types[goType]; ok {
		return known
	}
	name := openAPIName(goType)
	if _, ok := t.schemas[name]; ok {
		parent = name
	}
	static, file := rustName(goType)
	added := &structure{goType: goType, rust: static, openapi: name, file: file}
	t.types[goType] = added
	facts := t.schemas[parent]
	lines, numbers := []string{}, []int{}
	for i := 0; i < goType.NumField(); i++ {
		if line := t.field(goType.Field(i), facts, parent); line != "" {
			lines = append(lines, "    "+line+",")
			number, _ := protobufTag(goType.Field(i).Tag.Get("protobuf"))
			numbers = append(numbers, number)
		}
	}
	own := t.schemas[name]
	head := fmt.Sprintf("pub(crate) static %s: Type = t(%q, %q, &[", static, goType.String(), name)
	tail := "])"
	if order := wireOrder(numbers); order != "" {
		tail += fmt.Sprintf(".wire(&[%s])", order)
	}
	if own.MapType == "atomic" {
		tail += ".atomic()"
	}
	if len(own.Required) > 0 {
		tail += fmt.Sprintf(".required(%s)", rustStrings(own.Required))
	}
	added.lines = append(append([]string{head}, lines...), tail+";")
	return added
}

// wireOrder lists the fields by protobuf number, when that is not the order in which they are declared.
func wireOrder(numbers []int) string {
	order := []int{}
	for i, number := range numbers {
		if number != 0 {
			order = append(order, i)
		}
	}
	byNumber := func(i, j int) bool { return numbers[order[i]] < numbers[order[j]] }
	if sort.SliceIsSorted(order, byNumber) {
		return ""
	}
	sort.Slice(order, byNumber)
	words := []string{}
	for _, i := range order {
		words = append(words, strconv.Itoa(i))
	}
	return strings.Join(words, ", ")
}

func (t *typeTable) field(field reflect.StructField, facts schemaOf, parent string) string {
	tag := field.Tag.Get("json")
	name, options, _ := strings.Cut(tag, ",")
	number, _ := protobufTag(field.Tag.Get("protobuf"))
	if name == "-" || !field.IsExported() {
		if number != 0 {
			log.Fatalf("%s has a protobuf tag and no JSON name", field.Name)
		}
		return ""
	}
	goType := field.Type
	flags := []string{}
	if goType.Kind() == reflect.Pointer {
		goType = goType.Elem()
		flags = append(flags, "POINTER")
	}
	inline := name == "" && (field.Anonymous || strings.Contains(options, "inline"))
	if inline {
		name = field.Name
		flags = append(flags, "INLINE")
	} else if name == "" {
		name = field.Name
	}
	for _, option := range strings.Split(options, ",") {
		switch option {
		case "omitempty":
			flags = append(flags, "OMIT_EMPTY")
		case "omitzero":
			flags = append(flags, "OMIT_ZERO")
		case "", "inline":
		default:
			log.Fatalf("%s has the unknown JSON option %q", field.Name, option)
		}
	}
	if len(flags) == 0 {
		flags = append(flags, "0")
	}
	below := ""
	if inline {
		below = parent
	}
	line := fmt.Sprintf("f(%q, %q, %s, %d, %s)", name, goType.String(), t.shape(goType, below), number, strings.Join(flags, " | "))
	strategy := field.Tag.Get("patchStrategy")
	if strategy != "" {
		line += fmt.Sprintf(".patch(%q, %q)", strategy, field.Tag.Get("patchMergeKey"))
	}
	fact, ok := facts.Properties[name]
	if !ok || inline {
		return line
	}
	switch fact.ListType {
	case "":
		// Stock would fall back to the patch strategy; so far no list needs it.
		if goType.Kind() == reflect.Slice && strings.HasPrefix(strategy, "merge") {
			log.Fatalf("%s merges by its patch strategy alone", field.Name)
		}
	case "atomic":
		line += ".list(ListType::Atomic)"
	case "set":
		line += ".list(ListType::Set)"
	case "map":
		line += fmt.Sprintf(".keys(%s)", rustStrings(fact.ListKeys))
	default:
		log.Fatalf("unknown list type %q", fact.ListType)
	}
	switch fact.MapType {
	case "atomic":
		line += ".atomic()"
	case "granular":
		line += ".granular()"
	}
	if len(fact.Default) > 0 {
		line += fmt.Sprintf(".default(%s)", rustString(string(fact.Default)))
	}
	enum := fact.Enum
	if fact.Items != nil && len(enum) == 0 {
		enum = fact.Items.Enum
	}
	if fact.Values != nil && len(enum) == 0 {
		enum = fact.Values.Enum
	}
	if len(enum) > 0 {
		words := []string{}
		for _, word := range enum {
			words = append(words, must(strconv.Unquote(string(word))))
		}
		line += fmt.Sprintf(".words(%s)", rustStrings(words))
	}
	return line
}

func protobufTag(tag string) (number int, repeated bool) {
	parts := strings.Split(tag, ",")
	if len(parts) < 3 {
		return 0, false
	}
	return must(strconv.Atoi(parts[1])), parts[2] == "rep"
}

func (t *typeTable) shape(goType reflect.Type, parent string) string {
	if shape, ok := special[goType]; ok {
		if strings.HasPrefix(shape, "Shape::Schema") {
			return fmt.Sprintf("%s(&%s)", shape, t.element(reflect.TypeFor[apiextensionsv1.JSONSchemaProps]()))
		}
		return shape
	}
	if _, ok := reflect.New(goType).Interface().(jsonUnmarshaler); ok {
		log.Fatalf("%s reads itself from JSON and is not known here", goType)
	}
	switch goType.Kind() {
	case reflect.String:
		return "Shape::String"
	case reflect.Bool:
		return "Shape::Bool"
	case reflect.Int32:
		return "Shape::Int32"
	case reflect.Int64, reflect.Int:
		return "Shape::Int64"
	case reflect.Float64:
		return "Shape::Float64"
	case reflect.Interface:
		return "Shape::Json"
	case reflect.Struct:
		return fmt.Sprintf("Shape::Struct(&%s)", t.structure(goType, parent).rust)
	case reflect.Slice:
		if goType.Elem().Kind() == reflect.Uint8 {
			return "Shape::Bytes"
		}
		if _, ok := reflect.New(goType).Interface().(protoMarshaler); ok {
			return fmt.Sprintf("Shape::Items(&%s)", t.element(goType.Elem()))
		}
		return fmt.Sprintf("Shape::List(&%s)", t.element(goType.Elem()))
	case reflect.Map:
		if goType.Key().Kind() != reflect.String {
			log.Fatalf("%s has keys that are no strings", goType)
		}
		return fmt.Sprintf("Shape::Map(&%s)", t.element(goType.Elem()))
	}
	log.Fatalf("no shape for %s", goType)
	return ""
}

// element interns the type of a list's or map's entries.
func (t *typeTable) element(goType reflect.Type) string {
	pointer := goType.Kind() == reflect.Pointer
	if pointer {
		goType = goType.Elem()
	}
	text := fmt.Sprintf("e(%q, %s, %v)", goType.String(), t.shape(goType, ""), pointer)
	if name, ok := t.elements[text]; ok {
		return name
	}
	name := fmt.Sprintf("E%d", len(t.elements))
	t.elements[text] = name
	t.order = append(t.order, fmt.Sprintf("pub(crate) static %s: Element = %s;", name, text))
	return name
}

const header = "// Generated by xtask/kube/gen; do not edit.\n"

// write makes one module for each group version, in parts where it grows long.
func (t *typeTable) write(out string) {
	files := map[string][]*structure{}
	for _, added := range t.types {
		files[added.file] = append(files[added.file], added)
	}
	modules := []string{"elements", "resources", "roots", "bootstrap", "openapi"}
	for file, structures := range files {
		sort.Slice(structures, func(i, j int) bool { return structures[i].rust < structures[j].rust })
		part, lines := 1, []string{}
		flush := func(last bool) {
			name := file
			if !last || part > 1 {
				name = fmt.Sprintf("%s_%d", file, part)
			}
			source := header + "use super::*;\n\n" + strings.Join(lines, "\n") + "\n"
			check(os.WriteFile(filepath.Join(out, name+".rs"), []byte(source), 0o644))
			modules = append(modules, name)
			part, lines = part+1, nil
		}
		for _, added := range structures {
			if len(lines)+len(added.lines) > linesPerFile {
				flush(false)
			}
			lines = append(lines, added.lines...)
		}
		flush(true)
	}
	source := header + "use super::*;\n\n" + strings.Join(t.order, "\n") + "\n"
	check(os.WriteFile(filepath.Join(out, "elements.rs"), []byte(source), 0o644))

	sort.Slice(t.roots, func(i, j int) bool {
		if t.roots[i].apiVersion != t.roots[j].apiVersion {
			return t.roots[i].apiVersion < t.roots[j].apiVersion
		}
		return t.roots[i].kind < t.roots[j].kind
	})
	roots := header + "use super::*;\n\npub(crate) static ROOTS: &[(&str, &str, &Type)] = &[\n"
	for _, root := range t.roots {
		roots += fmt.Sprintf("    (%q, %q, &%s),\n", root.apiVersion, root.kind, root.rust)
	}
	check(os.WriteFile(filepath.Join(out, "roots.rs"), []byte(roots+"];\n"), 0o644))

	sort.Strings(modules)
	module := header + "//! Facts about the built-in kinds, as tables.\n\n"
	module += "use crate::table::construct::*;\n\n"
	for _, name := range modules {
		module += fmt.Sprintf("pub(crate) mod %s;\n", name)
	}
	module += "\n"
	for _, name := range modules {
		if name != "bootstrap" && name != "openapi" && name != "resources" && name != "roots" {
			module += fmt.Sprintf("use %s::*;\n", name)
		}
	}
	check(os.WriteFile(filepath.Join(out, "mod.rs"), []byte(module), 0o644))
}

func rustString(text string) string {
	if strings.ContainsAny(text, "\"\\") {
		return "r#\"" + text + "\"#"
	}
	return "\"" + text + "\""
}

func rustStrings(texts []string) string {
	quoted := []string{}
	for _, text := range texts {
		quoted = append(quoted, rustString(text))
	}
	return "&[" + strings.Join(quoted, ", ") + "]"
}
