"""Languages of the pretrained models that translate between many, and names of groups of languages.

Those of a model are in the order of their ids, which is part of it.
"""

from collections.abc import Collection

_M2M100 = """
af am ar ast az ba be bg bn br bs ca ceb cs cy da de el en es et fa ff fi fr fy ga gd gl gu ha he hi hr ht hu hy id ig
ilo is it ja jv ka kk km kn ko lb lg ln lo lt lv mg mk ml mn mr ms my ne nl no ns oc or pa pl ps pt ro ru sd si sk sl so
sq sr ss su sv sw ta th tl tn tr uk ur uz vi wo xh yi yo zh zu
"""
M2M100 = tuple(_M2M100.split())
"""Languages of M2M100 (Fan et al. 2020), whose tokens are `__af__` and so on."""
WMT21 = ("en", "ha", "is", "ja", "cs", "ru", "zh", "de")
"""Languages of the models that Facebook made of M2M100 for WMT 2021."""
_NLLB = """
ace_Arab ace_Latn acm_Arab acq_Arab aeb_Arab afr_Latn ajp_Arab aka_Latn amh_Ethi apc_Arab arb_Arab ars_Arab ary_Arab
arz_Arab asm_Beng ast_Latn awa_Deva ayr_Latn azb_Arab azj_Latn bak_Cyrl bam_Latn ban_Latn bel_Cyrl bem_Latn ben_Beng
bho_Deva bjn_Arab bjn_Latn bod_Tibt bos_Latn bug_Latn bul_Cyrl cat_Latn ceb_Latn ces_Latn cjk_Latn ckb_Arab crh_Latn
cym_Latn dan_Latn deu_Latn dik_Latn dyu_Latn dzo_Tibt ell_Grek eng_Latn epo_Latn est_Latn eus_Latn ewe_Latn fao_Latn
pes_Arab fij_Latn fin_Latn fon_Latn fra_Latn fur_Latn fuv_Latn gla_Latn gle_Latn glg_Latn grn_Latn guj_Gujr hat_Latn
hau_Latn heb_Hebr hin_Deva hne_Deva hrv_Latn hun_Latn hye_Armn ibo_Latn ilo_Latn ind_Latn isl_Latn ita_Latn jav_Latn
jpn_Jpan kab_Latn kac_Latn kam_Latn kan_Knda kas_Arab kas_Deva kat_Geor knc_Arab knc_Latn kaz_Cyrl kbp_Latn kea_Latn
khm_Khmr kik_Latn kin_Latn kir_Cyrl kmb_Latn kon_Latn kor_Hang kmr_Latn lao_Laoo lvs_Latn lij_Latn lim_Latn lin_Latn
lit_Latn lmo_Latn ltg_Latn ltz_Latn lua_Latn lug_Latn luo_Latn lus_Latn mag_Deva mai_Deva mal_Mlym mar_Deva min_Latn
mkd_Cyrl plt_Latn mlt_Latn mni_Beng khk_Cyrl mos_Latn mri_Latn zsm_Latn mya_Mymr nld_Latn nno_Latn nob_Latn npi_Deva
nso_Latn nus_Latn nya_Latn oci_Latn gaz_Latn ory_Orya pag_Latn pan_Guru pap_Latn pol_Latn por_Latn prs_Arab pbt_Arab
quy_Latn ron_Latn run_Latn rus_Cyrl sag_Latn san_Deva sat_Beng scn_Latn shn_Mymr sin_Sinh slk_Latn slv_Latn smo_Latn
sna_Latn snd_Arab som_Latn sot_Latn spa_Latn als_Latn srd_Latn srp_Cyrl ssw_Latn sun_Latn swe_Latn swh_Latn szl_Latn
tam_Taml tat_Cyrl tel_Telu tgk_Cyrl tgl_Latn tha_Thai tir_Ethi taq_Latn taq_Tfng tpi_Latn tsn_Latn tso_Latn tuk_Latn
tum_Latn tur_Latn twi_Latn tzm_Tfng uig_Arab ukr_Cyrl umb_Latn urd_Arab uzn_Latn vec_Latn vie_Latn war_Latn wol_Latn
xho_Latn ydd_Hebr yor_Latn yue_Hant zho_Hans zho_Hant zul_Latn
"""
NLLB = tuple(_NLLB.split())
"""Languages and scripts of NLLB-200 (Costa-jussà et al. 2022)."""
_MBART50 = """
ar_AR cs_CZ de_DE en_XX es_XX et_EE fi_FI fr_XX gu_IN hi_IN it_IT ja_XX kk_KZ ko_KR lt_LT lv_LV my_MM ne_NP nl_XX ro_RO
ru_RU si_LK tr_TR vi_VN zh_CN af_ZA az_AZ bn_IN fa_IR he_IL hr_HR id_ID ka_GE km_KH mk_MK ml_IN mn_MN mr_IN pl_PL ps_AF
pt_XX sv_SE sw_KE ta_IN te_IN th_TH tl_XX uk_UA ur_PK xh_ZA gl_ES sl_SI
"""
MBART50 = tuple(_MBART50.split())
"""Languages of mBART-50 (Tang et al. 2020). The first 25 are those of mBART (Liu et al. 2020)."""
MBART25 = MBART50[:25]
"""Languages of mBART."""
_GROUPS = """
aav afa alg alv apa aqa aql art ath auf aus awd azc bad bai bat ber bih bnt btk cai cau cba ccn ccs cdc cdd cel cmc cpe cpf
cpp crp csu cus day dmn dra egx esx euq fiu fox gem gme gmq gmw grk hmx hok hyx iir ijo inc ine ira iro itc jpx kar kdo khi
kro map mkh mno mul mun myn nah nai ngf nic nub omq omv oto paa phi plf poz pqe pqw pra qwe roa sai sal sdv sem sgn sio sit
sla smi son sqj ssa syd tai tbq trk tup tut tuw urj wak wen xgn xnd ypk zhx zle zls zlw znd
"""
GROUPS = frozenset(_GROUPS.split())
"""Codes of ISO 639-5, which OPUS-MT gives to models of several languages."""


def is_several(name: str, known: Collection[str]) -> bool:
    """Tell whether OPUS-MT calls several languages by a name: a group's code, one in capitals, or codes of `known` languages.

    >>> [is_several(name, ["cat", "spa"]) for name in ("roa", "ROMANCE", "cat_spa", "zho", "cat")]
    [True, True, True, False, False]
    """
    parts = name.split("_")
    return name in GROUPS or name.isupper() or (len(parts) > 1 and {*parts} <= {*known})
